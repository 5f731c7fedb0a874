#include "daemon/watch/job_watch.hpp"

#include <algorithm>
#include <cstring>

#include "daemon/control_channel.hpp"

namespace hf::daemon {

using segment::Counters;

namespace {

constexpr std::int64_t waits_ms_max = std::int64_t{1} << 38;  // beyond it is no time of a clock

}  // namespace

std::string_view name_of(WatchedState state) {
  constexpr std::string_view names[watched_state_count] = {"starting", "running", "waiting", "replaying", "dead", "finished"};
  return names[static_cast<std::size_t>(state)];
}

JobWatch::JobWatch(const std::vector<std::int32_t>& node_of_rank) : ranks_(node_of_rank.size()) {
  for (std::size_t i = 0; i < ranks_.size(); ++i) ranks_[i].node = node_of_rank[i];
}

void JobWatch::on_event(int node, const Event& event, Bytes text) {
  if (event.rank < 0 || event.rank >= rank_count()) return;
  Watched& rank = ranks_[static_cast<std::size_t>(event.rank)];
  if (event.kind == EventKind::unprotect) {
    if (event.a < ranks_.size()) ranks_[event.a].unprotected = true;
    return;
  }
  if (event.kind == EventKind::counters) return conclude(rank, event.incarnation, text);
  if (event.incarnation < rank.incarnation) return;  // late news
  switch (event.kind) {
    case EventKind::started:
      rank.node = node;
      return start(rank, event.incarnation);
    case EventKind::initialized:
      rank.initialized = true;
      return;
    case EventKind::caught_up:
      rank.replaying = false;
      return;
    case EventKind::died:
    case EventKind::rolled_back:
      rank.dead = true;
      return;
    case EventKind::exited:
      rank.finished = true;
      return;
    default:
      return;
  }
}

void JobWatch::on_moved(int number, int node) {
  Watched& rank = ranks_[static_cast<std::size_t>(number)];
  rank.node = node;
  rank.dead = true;
  rank.finished = false;  // a peer may need its log
}

RankPast JobWatch::past(int number) const {
  const Watched& rank = ranks_[static_cast<std::size_t>(number)];
  return {rank.started, rank.incarnation, rank.restarts, rank.before, rank.current};
}

// How it stands with the newest incarnation is told again.
void JobWatch::recall(int number, int node, const RankPast& past) {
  Watched& rank = ranks_[static_cast<std::size_t>(number)];
  rank.node = node;
  rank.started = past.started != 0;
  rank.incarnation = past.incarnation;
  rank.restarts = past.restarts;
  rank.replaying = past.restarts > 0;
  rank.before = past.before;
  rank.current = past.current;
}

void JobWatch::start(Watched& rank, std::uint32_t incarnation) {
  if (std::exchange(rank.started, true)) {
    if (incarnation == rank.incarnation) {  // told again
      rank.dead = rank.finished = false;
      return;
    }
    ++rank.restarts;
    rank.replaying = true;
    rank.before += rank.current;
  }
  rank.incarnation = incarnation;
  rank.current = {};
  rank.newest = rank.previous = {};
  rank.concluded = rank.initialized = rank.dead = rank.finished = false;
}

void JobWatch::conclude(Watched& rank, std::uint32_t incarnation, Bytes counters) {
  if (incarnation != rank.incarnation || counters.size() != sizeof(Counters)) return;
  std::memcpy(&rank.current, counters.data(), sizeof(Counters));
  rank.concluded = true;
}

void JobWatch::on_sample(int node, Bytes payload) {
  SampleHead head;
  if (!read_struct(payload, head)) return;
  for (RankSample sample; read_struct(payload, sample);) take(node, head.time_ns, sample);
  for (Watched& rank : ranks_) {
    if (rank.node == node) ++rank.samples;
  }
}

void JobWatch::take(int node, std::int64_t time_ns, const RankSample& sample) {
  if (sample.rank < 0 || sample.rank >= rank_count()) return;
  Watched& rank = ranks_[static_cast<std::size_t>(sample.rank)];
  if (rank.node != node || sample.incarnation != rank.incarnation) return;
  rank.previous = rank.newest;
  rank.newest = {time_ns, sample};
  if (!rank.concluded) rank.current = sample.counters;
}

void JobWatch::begin() {
  for (Watched& rank : ranks_) {
    rank.newest.time_ns = rank.previous.time_ns = 0;
    rank.samples = 0;
  }
}

int JobWatch::samples() const {
  int least = INT32_MAX;
  for (const Watched& rank : ranks_) least = std::min(least, rank.samples);
  return least;
}

WatchedState JobWatch::state(const Watched& rank) const {
  if (rank.finished) return WatchedState::finished;
  if (rank.dead) return WatchedState::dead;
  if (rank.replaying) return WatchedState::replaying;
  if (!rank.initialized) return WatchedState::starting;
  return rank.newest.time_ns != 0 && rank.newest.values.waiting != 0 ? WatchedState::waiting : WatchedState::running;
}

RankRow JobWatch::row(int number) const {
  const Watched& rank = ranks_[static_cast<std::size_t>(number)];
  RankRow row{number, rank.node, state(rank), rank.unprotected, rank.incarnation, rank.restarts};
  row.totals = rank.before;
  row.totals += rank.current;
  const Sampled &b = rank.newest, &a = rank.previous;
  row.call = b.values.call;
  row.log_memory_bytes = b.values.log_memory_bytes;
  row.log_disk_bytes = b.values.log_disk_bytes;
  // A rank waits while it replays too.
  const bool lives = row.state != WatchedState::dead && row.state != WatchedState::finished;
  if (lives && b.time_ns != 0 && b.values.waiting != 0) {
    const segment::Waiting waiting = segment::waiting_of(b.values.waiting);
    row.waits_for = waiting.whom;
    row.waits_s = static_cast<double>(std::clamp<std::int64_t>(b.time_ns / 1'000'000 - waiting.since_ms, 0, waits_ms_max)) / 1e3;
  }
  if (!lives || a.time_ns == 0 || b.time_ns <= a.time_ns) return row;
  const double seconds = static_cast<double>(b.time_ns - a.time_ns) / 1e9;
  auto rate = [&](std::uint64_t Counters::*which) {
    const std::uint64_t from = a.values.counters.*which, to = b.values.counters.*which;
    return to > from ? static_cast<double>(to - from) / seconds : 0.0;
  };
  row.messages_sent_per_s = rate(&Counters::messages_sent);
  row.bytes_sent_per_s = rate(&Counters::bytes_sent);
  row.messages_received_per_s = rate(&Counters::messages_received);
  row.bytes_received_per_s = rate(&Counters::bytes_received);
  return row;
}

RankRow JobWatch::sum() const {
  RankRow sum;
  for (int number = 0; number < rank_count(); ++number) {
    const RankRow one = row(number);
    sum.totals += one.totals;
    sum.restarts += one.restarts;
    sum.log_memory_bytes += one.log_memory_bytes;
    sum.log_disk_bytes += one.log_disk_bytes;
    sum.messages_sent_per_s += one.messages_sent_per_s;
    sum.bytes_sent_per_s += one.bytes_sent_per_s;
    sum.messages_received_per_s += one.messages_received_per_s;
    sum.bytes_received_per_s += one.bytes_received_per_s;
  }
  return sum;
}

std::array<int, watched_state_count> JobWatch::states() const {
  std::array<int, watched_state_count> counts{};
  for (const Watched& rank : ranks_) ++counts[static_cast<std::size_t>(state(rank))];
  return counts;
}

}  // namespace hf::daemon
