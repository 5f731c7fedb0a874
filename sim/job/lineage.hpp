// On what every state of a simulated job truly depends, from what happened: events written, messages sent and matched. Knows nothing of
// terms, vectors and records; a stream is to it a sequence of events with the positions at which they end.
//
// The history of a rank is one line of events. When the rank begins a new hosting with less, what is not part of it any more is lost, and
// so is every state that depends on it.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "sim/job/depends.hpp"

namespace hf::sim::job {

using SnapshotId = std::uint32_t;

class Lineage {
 public:
  // Of one incarnation.
  struct State {
    Rank rank{};
    std::size_t cuts = 0;  // of its rank, when it began
    Depends depends{0};
    SnapshotId kept = 0;  // the last one that was made of it
    struct Merge {
      std::size_t at;  // bytes that were not stored yet when it was made: what it records follows there
      SnapshotId message;
    };
    std::vector<Merge> merges;
  };
  // Without ranks nothing is kept, and nothing wrong is found.
  Lineage(int ranks, std::function<void(std::string)> violation);
  // Streams may be cut between an event and the records of dependencies behind it: whoever depends on these rolls back too, and need not.
  void expect_needless_rollbacks() { needless_ = true; }

  // Of a hosting under `term`; one that was ended by a cut, and does not know it, has no part in the history.
  State on_start(Rank rank, Term term, Bytes stream);
  // `unstored`: bytes of events that were made before and are not stored.
  void on_matched(State& state, SnapshotId message, std::size_t unstored) {
    if (keeps()) state.merges.push_back({unstored, message});
  }
  void on_written(State& state, Bytes bytes, std::size_t seen);
  SnapshotId snapshot(State& state);
  // All events of the rank that end by `end`, of its stream as it was under `term`, are where they survive.
  void on_stable(Rank rank, Term term, std::uint64_t end);
  // In the order in which everybody hears of them. `more`: with the next one it is of one adoption. Returns how many observations of its program the rank must repeat.
  std::size_t on_cut(Rank rank, Term term, std::uint64_t position, bool more);
  // By an agent that has heard of the first `heard` of all cuts.
  void on_rolled_back(Rank rank, const State* state, std::uint64_t position, std::size_t heard);
  // Something left the job that depends on this.
  void on_effect(SnapshotId of, const std::string& what);
  void require_good(const State& state, const std::string& what) const;

 private:
  struct Event {
    EventId before = 0;
    std::uint32_t depth = 0;
    std::size_t lost_by = 0;  // which cut of all; 0: it is not lost
    bool stable = false, shown = false;
    bool lost() const { return lost_by > 0; }
    std::vector<std::byte> bytes;
  };
  struct Mark {
    std::uint64_t position = 0;
    std::size_t events = 0;  // up to there
    std::size_t seen = 0;    // observations of the program
    SnapshotId depends = 0;
  };
  struct Cut {
    std::size_t number = 0;  // of all
    Term term{};
    std::uint64_t position = 0;
  };
  struct Line {
    std::vector<Cut> cuts;
    std::vector<EventId> events;
    std::vector<Mark> marks;
  };
  bool keeps() const { return !lines_.empty(); }
  Line& of(Rank rank) { return lines_[static_cast<std::size_t>(rank.value)]; }
  void merge(Depends& to, const Depends& from) const;
  void apply(State& state);
  SnapshotId keep(State& state);
  const Mark& mark_at(const Line& line, std::uint64_t position) const;
  bool depends_on_lost(const Depends& depends, std::size_t heard) const;

  std::vector<Line> lines_;
  std::vector<Event> events_;
  std::vector<Depends> snapshots_;
  std::size_t cuts_ = 0;
  std::vector<bool> more_;  // of each cut
  bool needless_ = false;
  std::function<void(std::string)> violation_;
};

}  // namespace hf::sim::job
