#include "core/event_logger/found.hpp"

#include <algorithm>
#include <tuple>

namespace hf::core::event_logger {

void keep(Found& found, std::uint64_t kept) {
  // The failed tests before it are events.
  if (kept < std::max<std::uint64_t>(found.promised.end, found.bytes.size())) found.last_failed = found.promised.last_failed = {};
  found.promised.end = std::min(found.promised.end, kept);
  if (kept < found.bytes.size()) found.bytes.resize(kept);
}

void take(Found& best, Found found, Term next) {
#ifndef HOLDFAST_MUTATE_BEGINNING_COUNTS
  found.whole = found.extent().covers(found.promised);
#endif
#ifndef HOLDFAST_MUTATE_UNSETTLED_PROMISES
  if (!found.whole && found.term >= next) {
    best.begun = either(best.begun, found.promised);
    return;
  }
#endif
  const Extent promised = either(best.promised, found.promised), begun = best.begun;
  auto merit = [](const Found& f) { return std::tuple(f.known, f.whole, f.term, f.bytes.size(), f.generation); };
  if (merit(found) > merit(best)) std::swap(best, found);
#ifndef HOLDFAST_MUTATE_ONE_GENERATION_COUNTS
  if (found.known && found.whole && best.whole && found.term == best.term) {
    best.as_well.insert(found.generation);
    best.as_well.merge(found.as_well);
  }
#endif
#ifdef HOLDFAST_MUTATE_ANY_FAILED_TEST
  best.last_failed = std::max(best.last_failed, found.last_failed);
#endif
  // Of another hosting, or behind events that are missing here, its failed tests are those of another execution.
  if (found.term == best.term && found.bytes.size() <= best.bytes.size()) best.last_failed = std::max(best.last_failed, found.last_failed);
  best.begun = begun;
  best.promised = promised;
}

bool suffices(const Found& best, const Told& told) {
  if (!best.extent().covers(best.promised)) return false;
  if (told.first == told.next) return true;
  if (!told.place_lost) return best.extent().covers(best.begun);
  if (!best.known) return false;
  if (best.term >= told.next) return true;  // it is whole, or would not have been taken
#ifndef HOLDFAST_MUTATE_OLDER_SUFFICES
  if (best.term < told.first) return false;
#endif
#ifdef HOLDFAST_MUTATE_OLD_GENERATION_SUFFICES
  return true;
#else
  const auto is_present = [&](Generation generation) { return told.present.contains(generation); };
  return is_present(best.generation) || std::ranges::any_of(best.as_well, is_present);
#endif
}

}  // namespace hf::core::event_logger
