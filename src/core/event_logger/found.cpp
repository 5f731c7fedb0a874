#include "core/event_logger/found.hpp"

#include <algorithm>
#include <tuple>

namespace hf::core::event_logger {

void keep(Found& found, std::uint64_t kept) {
  if (kept < std::max<std::uint64_t>(found.promised, found.bytes.size())) found.last_failed = {};  // the failed tests before it are events
  found.promised = std::min(found.promised, kept);
  if (kept < found.bytes.size()) found.bytes.resize(kept);
}

void take(Found& best, Found found, Term next) {
#ifndef HOLDFAST_MUTATE_BEGINNING_COUNTS
  found.whole = found.bytes.size() >= found.promised;
#endif
#ifndef HOLDFAST_MUTATE_UNSETTLED_PROMISES
  if (!found.whole && found.term >= next) {
    best.begun = std::max(best.begun, found.promised);
    return;
  }
#endif
  const std::uint64_t promised = std::max(best.promised, found.promised);
  const TestClock last_failed = std::max(best.last_failed, found.last_failed);
  auto merit = [](const Found& f) { return std::tuple(f.known, f.whole, f.term, f.bytes.size(), f.generation); };
  const std::uint64_t begun = best.begun;
  if (merit(found) > merit(best)) best = std::move(found);
  best.begun = begun;
  best.promised = promised;
  best.last_failed = last_failed;
}

bool suffices(const Found& best, const Told& told) {
  if (best.promised > best.bytes.size()) return false;
  if (told.first == told.next) return true;
  if (!told.place_lost) return best.begun <= best.bytes.size();
  if (!best.known) return false;
  if (best.term >= told.next) return true;  // it is whole, or would not have been taken
#ifndef HOLDFAST_MUTATE_OLDER_SUFFICES
  if (best.term < told.first) return false;
#endif
#ifdef HOLDFAST_MUTATE_OLD_GENERATION_SUFFICES
  return true;
#else
  return told.present.contains(best.generation);
#endif
}

}  // namespace hf::core::event_logger
