#include "daemon/output_tail.hpp"

#include <algorithm>

namespace hf::daemon {

void OutputTail::append(std::string_view bytes) {
  bytes_ += bytes;
  if (bytes_.size() <= 2 * bytes_min_) return;
  // A line that is longer than all that is kept loses its beginning.
  std::size_t drop = bytes_.size() - bytes_min_;
  const std::size_t newline = bytes_.rfind('\n', drop - 1);
  if (newline != std::string::npos) {
    begin_.lines += static_cast<std::uint64_t>(std::count(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(newline) + 1, '\n'));
    begin_.open_bytes = 0;
    drop = newline + 1;
    if (bytes_.size() - drop > 2 * bytes_min_) {
      begin_.open_bytes = bytes_.size() - bytes_min_ - drop;
      drop += begin_.open_bytes;
    }
  } else {
    begin_.open_bytes += drop;
  }
  bytes_.erase(0, drop);
}

}  // namespace hf::daemon
