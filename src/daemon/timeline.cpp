#include "daemon/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace hf::daemon {
namespace {

constexpr std::uint32_t incarnations_max = 1'000'000;
constexpr std::int64_t time_ns_max = std::int64_t{1} << 61;  // differences of two fit

}  // namespace

std::uint64_t restarts_of(const RankRecord& rank) {
  const std::optional<KnownRestarts>& known = rank.known_restarts;
  const auto started = std::ranges::count_if(rank.incarnations, [&](const IncarnationRecord& one) {
    return one.started_ns != 0 && (!known || one.number > known->incarnation);
  });
  if (known) return known->count + static_cast<std::uint64_t>(started);
  return started > 0 ? static_cast<std::uint64_t>(started - 1) : 0;
}

IncarnationRecord& Timeline::record(const Event& event) {
  auto& incarnations = ranks_[static_cast<std::size_t>(event.rank)].incarnations;
  auto at = std::ranges::lower_bound(incarnations, event.incarnation, {}, &IncarnationRecord::number);
  if (at == incarnations.end() || at->number != event.incarnation) {
    at = incarnations.insert(at, IncarnationRecord{});
    at->number = event.incarnation;
  }
  return *at;
}

void Timeline::on_event(const Event& event, Bytes text, int node) {
  if (event.rank < 0 || static_cast<std::size_t>(event.rank) >= ranks_.size() || event.incarnation > incarnations_max) return;
  if (event.time_ns < -time_ns_max || event.time_ns > time_ns_max) return;  // no clock says so
  IncarnationRecord& r = record(event);
  switch (event.kind) {
    case EventKind::started:
      r.started_ns = event.time_ns;
      r.node = node;
      break;
    case EventKind::joined:
      r.joined_ns = event.time_ns;
      break;
    case EventKind::initialized:
      if (r.initialized_ns == 0) r.initialized_ns = event.time_ns;  // MPI_Init may come behind a session
      break;
    case EventKind::finalized:
      r.finalized_ns = event.time_ns;
      break;
    case EventKind::caught_up:
      r.caught_up_ns = event.time_ns;
      r.calls_replayed = event.a;
      r.messages_replayed = event.b;
      r.sends_suppressed = event.c;
      r.determinants_replayed = event.d;
      break;
    case EventKind::injected:
      if (r.killed_ns == 0) r.killed_ns = event.time_ns;
      break;
    case EventKind::died:
      r.ended_ns = event.time_ns;
      r.end_signal = static_cast<int>(event.a);
      if (event.b != unknown_call) r.end_call = event.b;
      break;
    case EventKind::exited:
      r.ended_ns = event.time_ns;
      ranks_[static_cast<std::size_t>(event.rank)].exited_ns = event.time_ns;
      break;
    case EventKind::failed:
      if (r.ended_ns == 0) r.ended_ns = event.time_ns;
      notes_.push_back({event.time_ns, event.rank, std::string(text_of(text))});
      break;
    case EventKind::note:
    case EventKind::diverged:
      notes_.push_back({event.time_ns, event.rank, std::string(text_of(text))});
      break;
    case EventKind::counters:
      if (text.size() == sizeof(segment::Counters)) std::memcpy(&r.counters.emplace(), text.data(), text.size());
      break;
    case EventKind::unprotect:
      if (event.a < ranks_.size()) ranks_[event.a].unprotected = true;
      if (event.b == static_cast<std::uint64_t>(wire::UnprotectReason::threads)) {
        notes_.push_back({event.time_ns, event.rank, fmt::format("unprotected: a second thread called {}", text_of(text))});
      }
      break;
    case EventKind::rolled_back:
      r.rolled_back = true;
      r.ended_ns = event.time_ns;
      r.end_call = event.b;
      break;
    case EventKind::exhausted:
    case EventKind::listening:
      break;
  }
}

std::vector<Timeline::Failure> Timeline::failures() const {
  std::vector<Failure> out;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const auto& incarnations = ranks_[rank].incarnations;
    for (std::size_t i = 0; i < incarnations.size(); ++i) {
      const IncarnationRecord& died = incarnations[i];
      if (died.end_signal == 0) continue;
      std::int64_t from = died.killed_ns != 0 ? died.killed_ns : died.ended_ns;
      Failure f{static_cast<int>(rank), died.number, from - start_.value, died.end_signal,
                died.end_call};
      if (died.killed_ns != 0) f.detected_ns = died.ended_ns - from;
      if (i + 1 < incarnations.size()) {
        const IncarnationRecord& next = incarnations[i + 1];
        auto after = [&](std::int64_t time) { return time != 0 ? std::optional(time - from) : std::nullopt; };
        f.restarted_ns = after(next.started_ns);
        f.first_call_ns = after(next.joined_ns);
        f.caught_up_ns = after(next.caught_up_ns);
        if (next.caught_up_ns != 0) f.messages_replayed = next.messages_replayed;
      }
      out.push_back(f);
    }
  }
  std::ranges::stable_sort(out, {}, &Failure::at_ns);
  return out;
}

// A lost head may have declared it lost and done no more.
void Timeline::on_lost_node(LostNode lost) {
  std::erase_if(lost_nodes_, [&](const LostNode& other) { return other.node == lost.node && other.time_ns == 0; });
  lost_nodes_.push_back(std::move(lost));
}

void Timeline::on_moved_on(int from, const std::vector<int>& ranks, const std::vector<int>& to) {
  for (auto lost = lost_nodes_.rbegin(); lost != lost_nodes_.rend() && !ranks.empty(); ++lost) {
    if (std::ranges::find(lost->ranks, ranks[0]) == lost->ranks.end() || std::erase(lost->moved_to, from) == 0) continue;
    for (int agent : to) {
      if (std::ranges::find(lost->moved_to, agent) == lost->moved_to.end()) lost->moved_to.push_back(agent);
    }
    return;
  }
}

}  // namespace hf::daemon
