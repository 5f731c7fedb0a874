// Optimistic message logging (O2P), the policy of one rank (paper 000, III.B and IV.B; docs/optimist.md): messages do not wait, they
// say what they depend on; what leaves the job waits. What is a determinant, and its replay, are as under pessimist (pessimist.hpp),
// which writes the events. Pure.
//
// Order for the engine, `events` being the Pessimist of the rank, in its mode record_failed_tests():
// - begin() with the stream of the predecessors, before the program's first call.
// - Whenever the board has changed, before anything else: cuts(), then look(). False: the rank is an orphan; it asks its
//   agent to be looked at and does nothing more. Then what peers' messages depend on: IncomingDependencies::first_lost().
// - Nothing is noted with on_dependencies() that cuts() calls unknown: the frame waits until the board knows of it.
// - Before the program may see a message: on_seen(), then on_match() of `events`; store its bytes, on_stored(), and look at the board
//   once more before the program goes on.
// - Before a message leaves: events.close_failed_run(), store, on_stored(); if vector().changed_since(), a frame of dependencies before it.
// - For what leaves the job: the same, then offer(); later poll_released().
#pragma once
#include <cstdint>

#include "core/vprotocol/effects.hpp"
#include "core/vprotocol/incoming_dependencies.hpp"
#include "core/vprotocol/pessimist.hpp"

namespace hf::core::vprotocol {

class Optimist {
 public:
  // `stable`: what the board says, at any time.
  Optimist(Rank self, const Stable& stable) : stable_(stable), vector_(self) {}

  // What the board says of them, as far as the rank has looked.
  CutTable& cuts() { return cuts_; }
  const CutTable& cuts() const { return cuts_; }
  bool look() { return is_orphan_ = is_orphan_ || !vector_.look(cuts_, stable_), !is_orphan_; }
  bool is_orphan() const { return is_orphan_; }

  // The rank is hosted under `term`, and its stream is this so far. What stands in it is what the state depends on, from the start of
  // the replay on: more than it may be, never less.
  void begin(Term term, Bytes stream);

  // Message n of this peer is matched, found by a probe or tested: what it depends on and this rank did not is recorded. In a replay too: a
  // message may be matched there before the rank's last event is repeated, and after it before. False: the rank is an orphan.
  bool on_seen(IncomingDependencies& from, std::uint64_t n, Pessimist& events);
  // The bytes that `events` had were stored from this position of the stream on.
  void on_stored(std::uint64_t position, const Pessimist& events) {
    if (events.last_event_end() > 0) vector_.on_event(term_, position + events.last_event_end());
  }
  // An event that the engine stored itself: the stream ends there.
  void on_event_stored(std::uint64_t end) { vector_.on_event(term_, end); }
  DependencyVector& vector() { return vector_; }

  bool offer(Effects::Token token) { return effects_.offer(token, vector_); }
  bool poll_released(Effects::Token& token) { return !is_orphan_ && effects_.poll_released(token, cuts_, stable_); }
  bool has_held() const { return !effects_.empty(); }

 private:
  const Stable& stable_;
  Term term_{};
  bool is_orphan_ = false;
  CutTable cuts_;
  DependencyVector vector_;
  std::vector<Dependency> unstable_;  // of what is merged
  Effects effects_;
};

}  // namespace hf::core::vprotocol
