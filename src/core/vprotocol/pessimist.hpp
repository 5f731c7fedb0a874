// Pessimistic message logging, the policy of one rank (paper 000, IV.A): what is a determinant, when it is written, when
// frames may leave. Pure: encoded events are pulled with poll_events() and made stable by the engine, which then calls
// on_stable().
//
// Determinants and replay are those of optimistic logging too; there frames do not ask the gate (optimist.hpp).
//
// Order for the engine: after any call that says so in its comment: poll_events(), store them, on_stable(gate events);
// only then send frames that the gate lets pass.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "core/match/matcher.hpp"
#include "core/vprotocol/dependencies.hpp"
#include "core/vprotocol/events.hpp"
#include "core/vprotocol/gate.hpp"
#include "core/vprotocol/replay.hpp"

namespace hf::core::vprotocol {

class Pessimist {
 public:
  // Before the program's first call; Replay is filled by the engine from the predecessors' event logs.
  Replay& replay() { return replay_; }
  bool replaying() const { return replaying_; }
  // To be called once replay() is filled: false when there is nothing to replay.
  // `log_lost`: with the predecessors' node went what they had sent, acknowledgements of synchronous messages too.
  void begin(bool restarted, bool log_lost = false) {
    replaying_ = restarted && !replay_.over();
    log_lost_ = log_lost;
  }

  // A receive, probe or matched probe is posted: its number, and how matching must treat it.
  RequestNumber on_post(match::Posted& receive);
  // A receive or blocking probe has been matched. Appends an event when the source was not the program's choice.
  void on_match(RequestNumber number, bool any_source, bool forced, Rank source);

  Replay::Test on_test();                                     // a completion test begins
  void on_test_result(std::span<const std::int32_t> found);   // after `free`; appends an event unless nothing was found
  TestClock last_failed() const { return last_failed_; }      // lazy event: to be stored as one word at each test
  // Where that word is stable only later, a run of failed tests is an event of the gate, until a success takes its place.
  // poll_failed(): true once for each such run, when a frame is about to ask the gate: the word is to be made stable now.
  void gate_failed_tests() { gates_failed_ = true; }
  bool poll_failed() { return std::exchange(failed_pending_, false); }
  // Where a part of what was written may be all that is left: such a run is written as an event before the next one of another kind than a
  // delivery, and by close_failed_run(), which the engine calls before it stores an event of the C library. So the beginning of the stream, up to
  // any event, says of all tests before it what they found. Where nothing is gated (optimist.hpp), the engine also calls it before a frame or
  // anything else leaves that tells of this rank's state.
  void record_failed_tests() { records_failed_ = true; }
  void close_failed_run();
  bool has_failed_run() const { return run_open_; }
  // What the state depends on more than before, without being an event of this rank.
  void append_dependency(const Dependency& dependency) { encoded_.append(record_of(dependency)); }
  double on_time(double now);  // appends an event when not replayed; never goes back
  // free: it looks whether the receive is matched. after_past: the same, once all that its source had sent before this incarnation has
  // arrived: a predecessor may have acknowledged a match, which is made again then.
  enum class CancelPlan { free, after_past, cancelled, not_cancelled };
  CancelPlan on_cancel(RequestNumber number, bool any_source);
  void on_cancel_result(RequestNumber number, bool cancelled);  // after `free` or `after_past`; appends an event

  // Encoded events since the last call; valid until the next call of any member. Empty: none.
  bool has_events() const { return !encoded_.empty(); }
  Bytes events() const { return encoded_.bytes(); }
  void events_taken() { encoded_.clear(), last_event_end_ = 0; }
  // Of them, up to the end of the last one that is no record of a dependency; 0: there is none.
  std::size_t last_event_end() const { return last_event_end_; }
  std::uint64_t event_count() const { return event_count_; }
  // An event of the C library, which the engine stores itself.
  void on_libc_event() { ++event_count_, gate_.on_event(); }
  Gate& gate() { return gate_; }

  // True once, when the last determinant has been consumed: held receives must be released.
  bool poll_caught_up();

 private:
  void append(const EventHead& head, std::span<const std::int32_t> indices = {});
  void note_failed();
  Replay replay_;
  bool replaying_ = false, log_lost_ = false;
  Gate gate_;
  RequestNumber next_request_{};
  TestClock clock_{};
  TestClock last_failed_{};
  bool gates_failed_ = false, failed_pending_ = false;
  bool records_failed_ = false, run_open_ = false;  // tests up to last_failed_, behind the last event, found nothing
  std::uint64_t event_count_ = 0;
  double last_time_ = 0, time_offset_ = 0;
  EventBuffer encoded_;
  std::size_t last_event_end_ = 0;
};

}  // namespace hf::core::vprotocol
