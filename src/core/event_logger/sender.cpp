#include "core/event_logger/sender.hpp"

#include <algorithm>

namespace hf::core::event_logger {
namespace {

void raise(Sender::Extent& extent, const Sender::Extent& to) {
  extent.end = std::max(extent.end, to.end);
  extent.last_failed = std::max(extent.last_failed, to.last_failed);
}

}  // namespace

void Sender::tell(PerRank& r, const Extent& extent) {
  raise(r.promised, extent);
  raise(r.told, extent);
}

void Sender::add(Rank rank, Term term, const Extent& promised, const Extent& told) {
  ranks_[rank] = {.term = term, .promised = promised, .told = told};
  told_held_ = false;
}

void Sender::on_published(Rank rank, const Extent& extent) {
  PerRank& r = ranks_.at(rank);
  raise(r.published, extent);
  if (alone_ && promises_) tell(r, r.published);
}

void Sender::roll_back(Rank rank, Term term, std::uint64_t cut) {
  PerRank& r = ranks_.at(rank);
  in_flight_ -= r.sent.end - r.stable.end;
  r.term = term;
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
  raise(ranks_.at(rank).carried, extent);
#endif
}

void Sender::on_no_holder() {
  on_disconnected();
  alone_ = true;
  for (auto& [rank, r] : ranks_) {
    if (promises_) tell(r, r.published);
  }
}

bool Sender::poll_append(Append& append) {
  if (!connected_) return false;
  for (auto& [rank, r] : ranks_) {
    append = {rank, r.term, generation_, r.sent.end, r.sent.end, std::max(r.promised.end, r.carried.end), r.published.last_failed};
    if (!r.asked) {
      r.asked = true;
      append.last_failed = {};
      return true;
    }
    if (!r.known || r.sent.covers(r.published)) continue;
    if (r.sent.end < r.published.end) {
      if (in_flight_ >= in_flight_max_) continue;
      append.end = std::min(r.published.end, r.sent.end + append_bytes_max);
      in_flight_ += append.end - r.sent.end;
    }
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
    r.sent = r.stable = {std::min(extent.end, r.published.end), std::min(extent.last_failed, r.published.last_failed)};
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

Sender::Extent in_both(const Sender::Extent& one, const Sender::Extent& other) {
#ifdef HOLDFAST_MUTATE_STABLE_IN_ONE_PLACE
  return {std::max(one.end, other.end), std::max(one.last_failed, other.last_failed)};
#endif
  return {std::min(one.end, other.end), std::min(one.last_failed, other.last_failed)};
}

}  // namespace hf::core::event_logger
