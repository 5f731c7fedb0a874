#include "core/event_logger/found.hpp"

#include <algorithm>
#include <tuple>

namespace hf::core::event_logger {

void take(Found& best, Found found) {
  found.whole = found.bytes.size() >= found.promised;
  const std::uint64_t promised = std::max(best.promised, found.promised);
  const TestClock last_failed = std::max(best.last_failed, found.last_failed);
  auto merit = [](const Found& f) { return std::tuple(f.known, f.whole, f.term, f.bytes.size()); };
  if (merit(found) > merit(best)) best = std::move(found);
  best.promised = promised;
  best.last_failed = last_failed;
}

}  // namespace hf::core::event_logger
