#include "core/event_logger/sender.hpp"

#include <algorithm>

namespace hf::core::event_logger {

void Sender::add(Rank rank, Term term, std::uint64_t promised) {
  ranks_[rank] = {.term = term, .promised = promised};
  told_held_ = false;
}

void Sender::on_published(Rank rank, std::uint64_t end) {
  PerRank& r = ranks_.at(rank);
  r.published = std::max(r.published, end);
  if (alone_) r.promised = std::max(r.promised, r.published);
}

void Sender::on_connected(Generation generation) {
  on_disconnected();
  connected_ = true;
  generation_ = generation;
  told_held_ = false;
}

void Sender::on_disconnected() {
  connected_ = false;
  in_flight_ = 0;
  for (auto& [rank, r] : ranks_) {
    r.sent = r.stable = 0;
    r.asked = r.known = false;
  }
}

void Sender::on_no_holder() {
  on_disconnected();
  alone_ = true;
  for (auto& [rank, r] : ranks_) r.promised = std::max(r.promised, r.published);
}

bool Sender::poll_append(Append& append) {
  if (!connected_) return false;
  for (auto& [rank, r] : ranks_) {
    append = {rank, r.term, r.sent, r.sent, r.promised};
    if (!r.asked) {
      r.asked = true;
      return true;
    }
    if (!r.known || r.sent >= r.published || in_flight_ >= in_flight_max_) continue;
    append.end = std::min(r.published, r.sent + append_bytes_max);
    in_flight_ += append.end - r.sent;
    r.sent = append.end;
#ifdef HOLDFAST_MUTATE_STABLE_WHEN_SENT
    r.promised = std::max(r.promised, r.sent);
#endif
    return true;
  }
  return false;
}

bool Sender::on_stable(Rank rank, Term term, std::uint64_t position) {
  auto at = ranks_.find(rank);
  if (at == ranks_.end() || at->second.term != term || !at->second.asked) return false;
  PerRank& r = at->second;
  if (!r.known) {
    r.known = true;
    r.sent = r.stable = std::min(position, r.published);
  } else if (position > r.sent || position < r.stable) {
    return false;
  } else {
    in_flight_ -= position - r.stable;
    r.stable = position;
  }
  r.promised = std::max(r.promised, r.stable);
  return true;
}

bool Sender::is_held() const {
  return std::ranges::all_of(ranks_, [](const auto& entry) { return entry.second.known && entry.second.stable >= entry.second.promised; });
}

bool Sender::poll_held(Generation& generation) {
  if (!connected_ || told_held_ || !is_held()) return false;
  told_held_ = true;
  generation = generation_;
  return true;
}

}  // namespace hf::core::event_logger
