// What happened in a job, from its agents' events: for the summary, the report and the trace. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "daemon/control_messages.hpp"
#include "segment/control.hpp"

namespace hf::daemon {

// One incarnation of a rank. Times are of the monotonic clock; 0: has not happened.
struct IncarnationRecord {
  std::uint32_t number = 0;
  int node = -1;  // on which it was started; -1: not known
  std::int64_t started_ns = 0, joined_ns = 0, initialized_ns = 0, finalized_ns = 0, caught_up_ns = 0;
  std::int64_t killed_ns = 0;  // by injection: the moment of the signal
  std::int64_t ended_ns = 0;   // when the agent had seen the end and drained the output
  int end_signal = 0;          // 0: no signal
  bool rolled_back = false;    // it depended on what was lost
  std::optional<std::uint64_t> end_call;  // MPI call last begun; nothing: unknown
  std::uint64_t calls_replayed = 0, messages_replayed = 0, sends_suppressed = 0, determinants_replayed = 0;
  std::optional<segment::Counters> counters;  // once ended
};

// As a head before this one knew it, when `incarnation` was the newest that had been started.
struct KnownRestarts {
  std::uint32_t incarnation = 0;
  std::uint64_t count = 0;
};

struct RankRecord {
  std::vector<IncarnationRecord> incarnations;  // those that were heard of, ascending
  bool unprotected = false;
  std::optional<KnownRestarts> known_restarts;
  std::optional<std::int64_t> exited_ns;
};

// Of incarnations that were only heard of, such as one whose node was lost before it began, none counts.
std::uint64_t restarts_of(const RankRecord& rank);

struct TimelineNote {
  std::int64_t time_ns = 0;
  int rank = -1;
  std::string text;
};

struct LostNode {
  std::int64_t time_ns = 0;  // when it was declared lost; 0: by a head that is lost, and nothing else is known
  int node = 0;
  std::string why;
  std::vector<int> ranks, moved_to;  // agents; empty: nowhere, the job ends if it had ranks
};

class Timeline {
 public:
  Timeline(int rank_count, Instant start) : start_(start), ranks_(static_cast<std::size_t>(rank_count)) {}
  void on_event(const Event& event, Bytes text, int node = -1);  // told by the agent of that node
  void on_lost_node(LostNode lost);
  void on_known_restarts(int rank, KnownRestarts known) { ranks_[static_cast<std::size_t>(rank)].known_restarts = known; }
  // Ranks of a node that was lost last go on to others, since the one that they were to go to cannot take them.
  void on_moved_on(int from, const std::vector<int>& ranks, const std::vector<int>& to);
  void on_end(Instant now, int exit_code) {
    end_ = now;
    exit_code_ = exit_code;
  }

  Instant start() const { return start_; }
  Instant end() const { return end_; }
  int exit_code() const { return exit_code_; }
  const std::vector<RankRecord>& ranks() const { return ranks_; }
  const std::vector<TimelineNote>& notes() const { return notes_; }
  const std::vector<LostNode>& lost_nodes() const { return lost_nodes_; }
  // Heads before the one that keeps this. They knew more: only what ranks' present agents have told stands here of the time before.
  void on_lost_heads(std::uint32_t heads) { lost_heads_ = heads; }
  std::uint32_t lost_heads() const { return lost_heads_; }

  // One line of the story a death makes.
  struct Failure {
    int rank = 0;
    std::uint32_t incarnation = 0;  // that died
    std::int64_t at_ns = 0;         // since the start of the job: the kill where it is known, else its detection
    int signal = 0;
    std::optional<std::uint64_t> call;
    std::optional<std::int64_t> detected_ns, restarted_ns, first_call_ns, caught_up_ns;  // after `at_ns`
    std::optional<std::uint64_t> messages_replayed;  // once caught up
  };
  std::vector<Failure> failures() const;  // in order of time

 private:
  IncarnationRecord& record(const Event& event);
  Instant start_, end_{};
  int exit_code_ = 0;
  std::vector<RankRecord> ranks_;
  std::vector<TimelineNote> notes_;
  std::vector<LostNode> lost_nodes_;
  std::uint32_t lost_heads_ = 0;
};

}  // namespace hf::daemon
