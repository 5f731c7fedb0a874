#include "sim/job/lineage.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/vprotocol/events.hpp"

namespace hf::sim::job {

using core::vprotocol::EventHead;
using core::vprotocol::EventKind;

Lineage::Lineage(int ranks, std::function<void(std::string)> violation)
    : lines_(static_cast<std::size_t>(ranks)), events_(1), snapshots_{Depends(lines_.size())}, violation_(std::move(violation)) {
  for (Line& line : lines_) line.marks.emplace_back();
}

// Of two events of one rank, neither of which comes before the other, one is lost.
void Lineage::merge(Depends& to, const Depends& from) const {
  to.merge(from, [this](EventId of_mine, EventId of_other) {
    const Event &mine = events_[of_mine], &other = events_[of_other];
    return !mine.lost() && (other.lost() || other.depth > mine.depth);
  });
}

bool Lineage::depends_on_lost(const Depends& depends, std::size_t heard) const {
  return depends.any_of([&](EventId id) { return events_[id].lost() && events_[id].lost_by <= heard; });
}

const Lineage::Mark& Lineage::mark_at(const Line& line, std::uint64_t position) const {
  auto behind = std::ranges::upper_bound(line.marks, position, {}, &Mark::position);
  return *(behind - 1);
}

Lineage::State Lineage::on_start(Rank rank, Term term, Bytes stream) {
  if (!keeps()) return {};
  const Line& line = of(rank);
  std::size_t events = 0, same = 0;
  EventHead head;
  for (std::size_t at = 0; stream.size() - at >= sizeof(head); at += core::vprotocol::encoded_bytes(head)) {
    std::memcpy(&head, stream.data() + at, sizeof(head));
    if (head.kind == EventKind::dependency) continue;
    const Bytes item = stream.subspan(at, core::vprotocol::encoded_bytes(head));
    const bool known = same == events && same < line.events.size() && std::ranges::equal(item, events_[line.events[same]].bytes);
    same += known;
    ++events;
  }
  const auto cuts = static_cast<std::size_t>(std::ranges::count_if(line.cuts, [&](const Cut& cut) { return cut.term <= term; }));
  const bool ended = cuts < line.cuts.size();
  const SnapshotId begin = mark_at(line, stream.size()).depends;
  State state{rank, cuts, snapshots_[begin], begin, {}};
  if (!ended && (same != events || same != line.events.size())) {
    violation_(fmt::format("rank {} begins with {} events, of which {} are of its history of {}", rank.value, events, same,
                           line.events.size()));
  }
  if (ended && same != events) {
    events_.push_back({.lost_by = line.cuts[cuts].number});
    state.depends.set(rank, static_cast<EventId>(events_.size() - 1));
  }
  return state;
}

// ---- what happens

void Lineage::apply(State& state) {
  for (const State::Merge& m : state.merges) merge(state.depends, snapshots_[m.message]);
  state.merges.clear();
}

// What was matched before an event was made is what it follows from.
void Lineage::on_written(State& state, Bytes bytes, std::size_t seen) {
  if (!keeps()) return;
  Line& line = of(state.rank);
  const bool is_of_line = state.cuts == line.cuts.size();
  const std::uint64_t begin = line.marks.back().position;
  auto next = state.merges.begin();
  auto mark = [&](std::size_t end, std::size_t seen_there) {
    if (!is_of_line) return;
    line.marks.push_back({begin + end, line.events.size(), std::max(line.marks.back().seen, seen_there), keep(state)});
  };
  EventHead head;
  std::size_t at = 0;
  for (std::size_t end = 0; at < bytes.size(); at = end) {
    std::memcpy(&head, bytes.data() + at, sizeof(head));
    end = at + core::vprotocol::encoded_bytes(head);
    if (head.kind == EventKind::dependency) {
      mark(end, 0);  // what it is of is not matched yet
      continue;
    }
    for (; next != state.merges.end() && next->at <= at; ++next) merge(state.depends, snapshots_[next->message]);
    const Bytes item = bytes.subspan(at, end - at);
    const EventId last = state.depends.of(state.rank);
    events_.push_back({last, events_[last].depth + 1, is_of_line ? 0 : line.cuts[state.cuts].number, false, false, {item.begin(), item.end()}});
    const auto own = static_cast<EventId>(events_.size() - 1);
    state.depends.set(state.rank, own);
    if (is_of_line) line.events.push_back(own);
    mark(end, seen);
  }
  state.merges.erase(state.merges.begin(), next);
  apply(state);
  mark(bytes.size(), 0);  // tests that found nothing need not be repeated for a record
}

SnapshotId Lineage::snapshot(State& state) {
  if (!keeps()) return 0;
  apply(state);
  return keep(state);
}

SnapshotId Lineage::keep(State& state) {
  if (state.depends.shares_all_with(snapshots_[state.kept])) return state.kept;
  snapshots_.push_back(state.depends);
  return state.kept = static_cast<SnapshotId>(snapshots_.size() - 1);
}

void Lineage::on_stable(Rank rank, Term term, std::uint64_t end) {
  if (!keeps()) return;
  Line& line = of(rank);
  for (const Cut& cut : line.cuts) {
    if (cut.term > term) end = std::min(end, cut.position);
  }
  std::size_t n = mark_at(line, end).events;
  for (; n > 0 && !events_[line.events[n - 1]].stable; --n) events_[line.events[n - 1]].stable = true;
}

// ---- failures

std::size_t Lineage::on_cut(Rank rank, Term term, std::uint64_t position, bool more) {
  Line& line = of(rank);
  more_.push_back(more);
  line.cuts.push_back({++cuts_, term, position});
  const Mark kept = mark_at(line, position);
  if (kept.position != position) violation_(fmt::format("rank {} is cut at {}, inside an event", rank.value, position));
  std::erase_if(line.marks, [&](const Mark& mark) { return mark.position > position; });
  for (std::size_t n = kept.events; n < line.events.size(); ++n) {
    Event& event = events_[line.events[n]];
    event.lost_by = cuts_;
    if (event.shown) violation_(fmt::format("event {} of rank {} is lost, and something that left depends on it", n, rank.value));
  }
  line.events.resize(kept.events);
  return kept.seen;
}

void Lineage::on_rolled_back(Rank rank, const State* state, std::uint64_t position, std::size_t heard) {
  const Line& line = of(rank);
  bool is_orphan = depends_on_lost(snapshots_[line.marks.back().depends], heard);
  if (state) {
    Depends now = state->depends;
    for (const auto& m : state->merges) merge(now, snapshots_[m.message]);
    is_orphan |= depends_on_lost(now, heard);
  }
  // What was stable of one is lost because of what another has not, of which it has not heard then: a second cut follows.
  std::size_t whole = heard;
  while (whole > 0 && more_[whole - 1]) --whole;
  if (depends_on_lost(snapshots_[mark_at(line, position).depends], whole)) {
    violation_(fmt::format("rank {} is cut at {}, and is an orphan before", rank.value, position));
  }
  if (needless_) return;
  if (!is_orphan) violation_(fmt::format("rank {} is rolled back, and depends on nothing lost", rank.value));
  const std::size_t events = mark_at(line, position).events;
  auto next = std::ranges::find_if(line.marks, [&](const Mark& mark) { return mark.events > events; });
  if (next != line.marks.end() && !depends_on_lost(snapshots_[next->depends], heard)) {
    violation_(fmt::format("rank {} is cut at {}, and is no orphan behind it", rank.value, position));
  }
}

void Lineage::on_effect(SnapshotId of, const std::string& what) {
  snapshots_[of].each([&](EventId id) {
    if (id == 0) return;
    if (!events_[id].stable) violation_(what + " leaves before all that it depends on is stable");
    for (; id != 0 && !events_[id].shown; id = events_[id].before) events_[id].shown = true;
  });
}

void Lineage::require_good(const State& state, const std::string& what) const {
  if (depends_on_lost(state.depends, cuts_)) violation_(what + " is an orphan");
}

}  // namespace hf::sim::job
