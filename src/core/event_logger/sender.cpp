#include "core/event_logger/sender.hpp"

#include <algorithm>

namespace hf::core::event_logger {
void Sender::tell(PerRank& r, const Extent& extent) {
  r.promised = either(r.promised, extent);
  r.told = either(r.told, extent);
}

void Sender::add(Rank rank, Term term, const Extent& promised, const Extent& told) {
  ranks_[rank] = {.term = term, .found = promised.end, .promised = promised, .told = told};
  told_held_ = false;
}

void Sender::on_published(Rank rank, const Extent& extent) {
  PerRank& r = ranks_.at(rank);
  r.published = either(r.published, extent);
  if (alone_ && promises_) tell(r, r.published);
}

void Sender::roll_back(Rank rank, Term term, std::uint64_t cut) {
  PerRank& r = ranks_.at(rank);
  in_flight_ -= r.sent.end - r.stable.end;
  r.term = term;
  r.found = std::min(r.found, cut);
  // The failed tests before the cut are events.
  r.published = {std::min(r.published.end, cut), {}};
  r.promised = {std::min(r.promised.end, cut), {}};
  r.told = {std::min(r.told.end, cut), {}};
  r.carried.end = std::min(r.carried.end, cut);
  r.sent = r.stable = {};
  r.asked = r.known = false;
  if (alone_ && promises_) tell(r, r.published);
  told_held_ = false;
}

void Sender::promise(Rank rank, const Extent& extent) { tell(ranks_.at(rank), extent); }

void Sender::on_connected(Generation generation) {
  on_disconnected();
  connected_ = true;
  alone_ = false;
  generation_ = generation;
  told_held_ = false;
}

void Sender::on_disconnected() {
  connected_ = false;
  in_flight_ = 0;
  for (auto& [rank, r] : ranks_) {
    r.sent = r.stable = {};
    r.asked = r.known = false;
  }
}

void Sender::on_carried(Rank rank, const Extent& extent) {
  told_held_ = false;
#ifndef HOLDFAST_MUTATE_FORGET_CARRIED_TO
  ranks_.at(rank).carried = either(ranks_.at(rank).carried, extent);
#endif
}

void Sender::on_no_holder() {
  on_disconnected();
  alone_ = true;
  for (auto& [rank, r] : ranks_) {
    if (promises_) tell(r, r.published);
  }
}

// Of those that are known, the last test that comes before any event behind `to`.
TestClock Sender::PerRank::last_failed(std::uint64_t to) const {
#ifdef HOLDFAST_MUTATE_FAILED_AHEAD
  return published.last_failed;
#endif
  TestClock last = sent.last_failed;
  for (const Extent& extent : {published, promised, carried}) {
    if (extent.end <= to) last = std::max(last, extent.last_failed);
  }
  return last;
}

bool Sender::poll_append(Append& append) {
  if (!connected_) return false;
  for (auto& [rank, r] : ranks_) {
    append = {rank, r.term, generation_, r.sent.end, r.sent.end, either(r.promised, r.carried), {}};
    if (!r.asked) {
      r.asked = true;
#ifndef HOLDFAST_MUTATE_ASK_FROM_THE_START
      append.position = append.end = r.found;
#endif
      return true;
    }
    if (!r.known || r.sent.covers(r.published)) continue;
    if (r.sent.end < r.published.end) {
      if (in_flight_ >= in_flight_max_) continue;
      append.end = std::min(r.published.end, r.sent.end + append_max_);
      in_flight_ += append.end - r.sent.end;
    }
    append.last_failed = r.last_failed(append.end);
    r.sent = {append.end, append.last_failed};
#ifdef HOLDFAST_MUTATE_STABLE_WHEN_SENT
    tell(r, r.sent);
#endif
    return true;
  }
  return false;
}

bool Sender::on_stable(Rank rank, Term term, const Extent& extent) {
  auto at = ranks_.find(rank);
  if (at != ranks_.end() && term < at->second.term) return true;
  if (at == ranks_.end() || at->second.term != term || !at->second.asked) return false;
  PerRank& r = at->second;
  if (!r.known) {
    r.known = true;
    // It may have more of a hosting before, which was told to nobody.
    r.sent = r.stable = both(extent, r.published);
  } else if (!r.sent.covers(extent) || !extent.covers(r.stable)) {
    return false;
  } else {
    in_flight_ -= extent.end - r.stable.end;
    r.stable = extent;
  }
  if (promises_) tell(r, r.stable);
  return true;
}

bool Sender::is_held() const {
  return std::ranges::all_of(ranks_, [](const auto& entry) { return entry.second.is_held(); });
}

bool Sender::poll_held(Generation& generation) {
  if (!connected_ || told_held_ || !is_held()) return false;
  told_held_ = true;
  generation = generation_;
  return true;
}

Extent in_both(const Extent& one, const Extent& other) {
#ifdef HOLDFAST_MUTATE_STABLE_IN_ONE_PLACE
  return either(one, other);
#endif
  return both(one, other);
}

}  // namespace hf::core::event_logger
