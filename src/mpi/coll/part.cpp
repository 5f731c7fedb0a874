#include "mpi/coll/part.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.hpp"

namespace hf::mpi {

void Part::pack(std::size_t from, MutableBytes out) const {
  if (out.empty()) return;
  if (!type) std::memcpy(out.data(), buffer + from, out.size());
  else pack_range(*type, buffer, count, offset + from, out);
}

void Part::unpack(std::size_t to, Bytes in) const {
  if (in.empty()) return;
  if (!type) std::memcpy(buffer + to, in.data(), in.size());
  else unpack_range(*type, buffer, count, offset + to, in);
}

void copy_long_part(const Part& from, const Part& to) {
  HF_CHECK(from.bytes == to.bytes);
  if (from.bytes == 0) return;
  if (!from.type && !to.type) {
    std::memmove(to.buffer, from.buffer, from.bytes);
  } else if (!from.type) {
    to.unpack(0, {from.buffer, from.bytes});
  } else if (!to.type) {
    from.pack(0, {to.buffer, to.bytes});
  } else {
    std::array<std::byte, 16384> piece;
    for (std::size_t at = 0; at < from.bytes; at += piece.size()) {
      const std::size_t n = std::min(piece.size(), from.bytes - at);
      from.pack(at, {piece.data(), n});
      to.unpack(at, {piece.data(), n});
    }
  }
}

}  // namespace hf::mpi
