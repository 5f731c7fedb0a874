// What may leave (design rule 3): determinants are written, become stable, and let the frames go that depend on them. At level `process`
// written is stable; at level `node` an agent elsewhere must have them, which the board tells (docs/node-loss.md).
#include <atomic>

#include "base/check.hpp"
#include "engine/engine_impl.hpp"

namespace hf::engine {

void EngineImpl::store_events() {
  // Making room may take frames, which may bring more events, or store them all.
  const bool outer = std::exchange(storing_, true);
  while (!log_->reserve_raw(job.rank_count, protocol.events().size())) make_room();
  storing_ = outer;
  no_room_since_ = 0;
  if (!protocol.has_events()) return;
  const std::uint64_t position = past_events_ + log_->published(job.rank_count);
  log_->append_raw(job.rank_count, protocol.events());
  log_->publish(job.rank_count);
  if (optimist_) optimist_->on_stored(position, protocol);
  else if (node_level_) keep_recent(protocol.events());
  protocol.events_taken();
  counters().determinants = protocol.event_count();
  if (optimist_) {
    on_events_stored();
    return point("match.logged");
  }
  if (node_level_) await_holder();
  else protocol.gate().on_stable(protocol.gate().events());
  point("match.logged");
}

// A frame is about to ask the gate. True: it is open, nothing waits behind it.
bool EngineImpl::settle() {
  if (optimist_) {
    write_all();
    if (!protocol.gate().open()) hurry_own_events();
    return protocol.gate().open();
  }
  if (is_settled()) return true;
  want_stable();
  return false;
}

// The same, for a frame that may take its events along.
bool EngineImpl::is_settled() {
  if (node_level_) flush_clock_reads();
  if (protocol.gate().open()) return true;
  persist_events();
  if (!node_level_) return true;
  if (protocol.poll_failed() || libc_events_wait_) await_holder();
  look_at_stable();
  return protocol.gate().open();
}

// What was written last waits for the holder. The agent looks again whenever the holder has answered: it is told only when nothing was
// on its way. Either it sees what we wrote, or we see that it has told us of all that was before. What can go with messages is not
// hurried: the agent is told when something waits for it.
void EngineImpl::await_holder() {
  protocol.poll_failed();  // the word goes with the events
  libc_events_wait_ = false;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  look_at_stable();
  unstable_.push_back({protocol.gate().events(), past_events_ + log_->published(job.rank_count), protocol.last_failed()});
  if (agent->events_holder() < 0) tell_agent();
}

// Something waits until all that has been determined so far is stable.
void EngineImpl::want_stable() {
  wanted_ = protocol.gate().events();
  tell_agent();
}

// The agent sees what has been written: an event that the gate counts already may not have been.
void EngineImpl::tell_agent() {
  if (asked_ > protocol.gate().stable() || unstable_.empty()) return;  // on its way
  asked_ = unstable_.back().events;
  agent->tell(wire::BootstrapKind::determined);
}

void EngineImpl::look_at_stable() {
  if (optimist_) return look_at_dependencies();
  if (unstable_.empty()) return;
#ifdef HOLDFAST_MUTATE_WRITTEN_IS_STABLE
  const AgentLink::Stable stable{UINT64_MAX, TestClock{UINT64_MAX}};
#else
  const AgentLink::Stable stable = agent->stable();
#endif
  while (!unstable_.empty() && unstable_.front().end <= stable.events && unstable_.front().last_failed <= stable.last_failed) {
    protocol.gate().on_stable(unstable_.front().events);
    unstable_.pop_front();
  }
  if (wanted_ > protocol.gate().stable()) tell_agent();
  release_held();
}

// The record appended last to this stream is published when the gate opens: to read it would be to learn of this rank.
void EngineImpl::hold(Peer& to, SendOperation* op) {
  want_stable();
  if (held_.empty()) segment::store_release(control.header().first_held_call, calls.number);
  held_.push_back({&to, log_->appended(to.rank.value), op, calls.number});
}

// What it releases is offered at once: the program may leave MPI now.
void EngineImpl::release_held() {
  bool any = false;
  for (core::vprotocol::Gate::Token token; protocol.gate().poll_released(token); any = true) {
    HF_CHECK(!held_.empty());
    HeldSend held = held_.front();
    held_.pop_front();
    log_->publish_to(held.to->rank.value, held.end);
    if (held.op) held.op->complete = true;
    wake(*held.to);
    pump(*held.to);
  }
  if (any) segment::store_release(control.header().first_held_call, held_.empty() ? std::uint64_t{0} : held_.front().call);
}

// What the predecessors determined may not be stable yet, and this incarnation is going to depend on it.
void EngineImpl::take_over_past(std::uint64_t past_bytes, TestClock past_failed) {
  past_events_ = past_bytes;
  past_failed_ = past_failed;
  if (optimist_ || !node_level_ || (past_bytes == 0 && past_failed.value == 0)) return;
  protocol.gate().on_event();
  unstable_.push_back({protocol.gate().events(), past_bytes, past_failed});
  tell_agent();
}

}  // namespace hf::engine
