// The bound of the sender log (design rule 6): when memory and disk are full, the receiver that holds most of it is
// declared unprotected, its log is given back everywhere, and what is sent to it from then on is not kept.
#include <sched.h>

#include "engine/engine_impl.hpp"

namespace hf::engine {
// Room in the log for a message to this receiver. False: the receiver is unprotected by now.
bool EngineImpl::reserve(Peer& to, std::uint64_t payload_bytes) {
  while (!log_->reserve(payload_bytes)) {
    make_room();
    if (to.unprotected) return false;
  }
  return true;
}

void EngineImpl::reserve_events(std::uint64_t bytes) {
  while (!log_->reserve_raw(job.rank_count, bytes)) make_room();
}

// Asks the job to give up the receiver whose log is largest, and lets what it still needs flow to it.
void EngineImpl::make_room() {
  bool waiting = false;
  for (auto& p : peers) waiting |= p->unprotected && !p->out.stream_released;
  Peer* largest = largest_stream();
  if (!waiting && !largest) {
    abort(1, "neither memory nor disk is left for logs, and no receiver's log can be given up; raise --log-memory or --log-disk");
  }
  if (!waiting && largest != asked_unprotect_) {
    wire::RankName name{largest->rank.value};
    agent->tell(wire::BootstrapKind::unprotect, name);
    asked_unprotect_ = largest;
  }
  progress_rails();
  ::sched_yield();
}

Peer* EngineImpl::largest_stream() {
  Peer* largest = nullptr;
  for (auto& p : peers) {
    if (p->unprotected || is_self(p->rank) || log_->appended(p->rank.value) == 0) continue;
    if (!largest || log_->appended(p->rank.value) > log_->appended(largest->rank.value)) largest = p.get();
  }
  return largest;
}

// An unprotected rank tells how far it needs a sender's log.
void EngineImpl::publish_log_done(Peer& from) {
  if (from.in.feeding || from.in.log_references > 0 || from.in.fed != from.incarnation) return;
  if (!from.local) {
    if (from.in.log_done == from.in.cursor || !from.in.open) return;
    from.in.log_done = from.in.cursor;
    return tell_credit(from);
  }
  segment::store_release(control.inbound(from.rank).log_done, segment::inbound_word(from.incarnation, from.in.cursor));
}

// Gives the log stream of an unprotected receiver back once the receiver needs nothing of it any more.
void EngineImpl::release_stream(Peer& to) {
  if (!logging || (to.local && !to.newest_log)) return;
  std::uint64_t word = to.out.log_done;
  if (to.local) {
    word = segment::load_acquire(to.newest_log->control().inbound(job.self).log_done);
    if (!segment::inbound_is_of(word, incarnation)) return;
  }
  if (to.out.sent != log_->appended(to.rank.value) || (word & segment::taken_mask) != (to.out.sent & segment::taken_mask)) return;
  log_->release(to.rank.value);
  to.out.stream_released = true;
}

}  // namespace hf::engine
