#include "core/vprotocol/pessimist.hpp"

#include <bit>

namespace hf::core::vprotocol {

void Pessimist::append(const EventHead& head, std::span<const std::int32_t> indices) {
  if (run_open_) {
    run_open_ = false;
#ifndef HOLDFAST_MUTATE_RUN_LEFT_OPEN
    if (head.kind != EventKind::delivery) append({EventKind::delivery, 0, last_failed_.value});
#endif
  }
  if (indices.empty()) encoded_.append(head);
  else encoded_.append(head, indices);
  last_event_end_ = encoded_.size();
  ++event_count_;
  bool replaces = head.kind == EventKind::delivery && poll_failed();
  if (!replaces) gate_.on_event();
}

RequestNumber Pessimist::on_post(match::Posted& receive) {
  RequestNumber number = next_request_;
  ++next_request_;
  if (!replaying_) return number;
  Replay::Receive plan = replay_.on_post(number);
  if (plan.kind == Replay::Receive::cancelled) {
    receive.mode = match::Mode::inert;
  } else if (plan.kind == Replay::Receive::forced) {
    receive.source = plan.source;
  } else if (receive.any_source) {
    receive.mode = match::Mode::held;
  }
  return number;
}

void Pessimist::on_match(RequestNumber number, bool any_source, bool forced, Rank source) {
#ifndef HOLDFAST_MUTATE_DROP_MATCH
  if (any_source && !forced) append({EventKind::match, static_cast<std::uint32_t>(source.value), number.value});
#endif
}

Replay::Test Pessimist::on_test() {
  ++clock_;
  if (!replaying_) return {};
  const Replay::Test plan = replay_.on_test(clock_);
  // A predecessor's test that no event tells of.
  if (records_failed_ && plan.kind == Replay::Test::nothing && clock_ > replay_.last_recorded()) note_failed();
  return plan;
}

void Pessimist::note_failed() {
#ifndef HOLDFAST_MUTATE_DROP_FAILED_TEST
  last_failed_ = clock_;
  if (gates_failed_ && !std::exchange(failed_pending_, true)) gate_.on_event();
  run_open_ = records_failed_;
#endif
}

void Pessimist::close_failed_run() {
  if (!run_open_) return;
  run_open_ = false;
  append({EventKind::delivery, 0, last_failed_.value});
}

void Pessimist::on_test_result(std::span<const std::int32_t> found) {
  if (found.empty()) return note_failed();
#ifndef HOLDFAST_MUTATE_DROP_DELIVERY
  append({EventKind::delivery, static_cast<std::uint32_t>(found.size()), clock_.value}, found);
#endif
}

double Pessimist::on_time(double now) {
  double recorded;
  if (replaying_ && replay_.take_time(recorded)) return last_time_ = recorded;
  // The clock of the host that the rank was moved to may be behind.
  if (now + time_offset_ < last_time_) time_offset_ = last_time_ - now;
  now += time_offset_;
  last_time_ = now;
#ifndef HOLDFAST_MUTATE_DROP_TIME
  append({EventKind::time, 0, std::bit_cast<std::uint64_t>(now)});
#endif
  return now;
}

Pessimist::CancelPlan Pessimist::on_cancel(RequestNumber number, bool any_source) {
  bool outcome;
  if (!replaying_ || !replay_.take_cancel(number, outcome)) {
#ifndef HOLDFAST_MUTATE_CANCEL_AT_ONCE
    if (log_lost_ && !any_source) return CancelPlan::after_past;  // matches from any source are determinants
#endif
    return CancelPlan::free;
  }
  return outcome ? CancelPlan::cancelled : CancelPlan::not_cancelled;
}

void Pessimist::on_cancel_result(RequestNumber number, bool cancelled) {
#ifndef HOLDFAST_MUTATE_DROP_CANCEL
  append({EventKind::cancel, cancelled ? 1u : 0u, number.value});
#endif
}

bool Pessimist::poll_caught_up() {
  if (!replaying_ || !replay_.over()) return false;
  replaying_ = false;
  return true;
}

}  // namespace hf::core::vprotocol
