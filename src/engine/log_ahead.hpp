// A record whose message leaves before its payload is copied into the log: the copy, piece by piece while the message is on its way.
#pragma once
#include <algorithm>
#include <span>

#include "base/bytes.hpp"
#include "base/streaming_copy.hpp"

namespace hf::engine {

class LogAhead {
 public:
  // `places`: of the record's payload, in order; `from`: the program's buffer, of the same bytes in all. Both stay as long as this.
  LogAhead(std::span<MutableBytes> places, const std::byte* from) : places_(places), from_(from) {}

  // The next `bytes`, or what is left of the payload. fence_streamed() is to come before the record is published.
  void copy(std::uint64_t bytes) {
    while (bytes > 0 && !is_whole()) {
      MutableBytes& to = places_.front();
      const std::size_t n = std::min<std::uint64_t>(bytes, to.size());
      streaming_copy(to.data(), from_, n);
      from_ += n;
      bytes -= n;
      to = to.subspan(n);
      if (to.empty()) places_ = places_.subspan(1);
    }
  }
  bool is_whole() const { return places_.empty(); }

 private:
  std::span<MutableBytes> places_;
  const std::byte* from_;
};

}  // namespace hf::engine
