#include "core/event_logger/found.hpp"

#include <algorithm>
#include <tuple>

namespace hf::core::event_logger {

void keep(Found& found, std::uint64_t kept) {
  if (kept < std::max<std::uint64_t>(found.promised, found.bytes.size())) found.last_failed = {};  // the failed tests before it are events
  found.promised = std::min(found.promised, kept);
  if (kept < found.bytes.size()) found.bytes.resize(kept);
}

void take(Found& best, Found found) {
#ifndef HOLDFAST_MUTATE_BEGINNING_COUNTS
  found.whole = found.bytes.size() >= found.promised;
#endif
  const std::uint64_t promised = std::max(best.promised, found.promised);
  const TestClock last_failed = std::max(best.last_failed, found.last_failed);
  auto merit = [](const Found& f) { return std::tuple(f.known, f.whole, f.term, f.bytes.size(), f.generation); };
  if (merit(found) > merit(best)) best = std::move(found);
  best.promised = promised;
  best.last_failed = last_failed;
}

bool suffices(const Found& best, Term next, Generation whole_from) {
  if (best.promised > best.bytes.size()) return false;
  if (whole_from == Generation{}) return true;
#ifndef HOLDFAST_MUTATE_OLDER_SUFFICES
  if (best.term.next() != next) return false;
#endif
#ifndef HOLDFAST_MUTATE_OLD_GENERATION_SUFFICES
  if (best.generation < whole_from) return false;
#endif
  return best.known;
}

}  // namespace hf::core::event_logger
