// The bound of the sender log (design rule 6): when memory and disk are full, the receiver that holds most of it is
// declared unprotected, its log is given back everywhere, and what is sent to it from then on is not kept.
#include <sched.h>

#include "engine/engine_impl.hpp"

namespace hf::engine {
namespace {

constexpr std::uint64_t spare_chunks = 64;  // of the log, kept for events and acknowledgements
constexpr std::int64_t room_patience_ns = 100'000'000;
constexpr std::int64_t refusal_ns = 10'000'000;

}  // namespace

// A refusal stands for a while: whoever waits for room looks again and again.
MutableBytes EngineImpl::new_log_segment() {
  std::int64_t now = now_ns();
  if (refused_at_ != 0 && now - refused_at_ < refusal_ns) return {};
  MutableBytes segment = agent->new_log_segment();
  refused_at_ = segment.empty() ? now : 0;
  return segment;
}

// Room in the log for a message to this receiver. False: the receiver is unprotected by now.
bool EngineImpl::reserve(Peer& to, std::uint64_t payload_bytes) {
  while (!log_->reserve(payload_bytes, spare_chunks)) {
    make_room();
    if (to.unprotected) return no_room_since_ = 0, false;
  }
  no_room_since_ = 0;
  return true;
}

// Without asking anybody for more.
bool EngineImpl::log_has_room(std::uint64_t payload_bytes) const { return log_->has_room(payload_bytes, spare_chunks); }

// While frames are being handled nothing that would free the log can be heard: acknowledgements, like events, take from what
// messages leave.
bool EngineImpl::reserve_acknowledgement(Peer& to) {
  while (!log_->reserve(0)) {
    make_room();
    if (to.unprotected) return no_room_since_ = 0, false;
  }
  no_room_since_ = 0;
  return true;
}

// Asks the job to give up the receiver whose log is largest, and lets what it still needs flow to it. One that does not take
// what is kept for it, since it waits for something else, does not hold up the next.
void EngineImpl::make_room() {
  std::int64_t now = now_ns();
  if (no_room_since_ == 0) no_room_since_ = now;
  bool waiting = false;
  for (auto& p : peers) waiting |= is_awaited(*p);
  Peer* largest = largest_stream();
  if (!waiting && !largest) {
    abort(1, "neither memory nor disk is left for logs, and no receiver's log can be given up; raise --log-memory or --log-disk");
  }
  if (largest && largest != asked_unprotect_ && (!waiting || now - no_room_since_ > room_patience_ns)) {
    wire::Unprotect what{largest->rank.value, wire::UnprotectReason::log_full};
    agent->tell(wire::BootstrapKind::unprotect, what);
    asked_unprotect_ = largest;
    no_room_since_ = now;
  }
  // Nor is anything heard of other nodes while frames are being handled: who waits for that waits for ever.
  const bool deaf = in_rails_ && !largest && now - no_room_since_ > room_patience_ns;
  progress_rails();
  if (deaf && waits_for_other_nodes_alone()) {
    abort(1, "neither memory nor disk is left for logs, not even for what this rank determines; raise --log-memory or --log-disk");
  }
  ::sched_yield();
}

// Given up, and its log still stands.
bool EngineImpl::is_awaited(const Peer& p) const { return p.unprotected && !p.out.stream_released && logged_for(p.rank) > 0; }

bool EngineImpl::waits_for_other_nodes_alone() const {
  auto awaited = [this](const Peer* p) { return is_awaited(*p); };
  return std::ranges::any_of(remote_peers_, awaited) && std::ranges::none_of(local_peers_, awaited);
}

Peer* EngineImpl::largest_stream() {
  Peer* largest = nullptr;
  std::uint64_t most = 0;
  for (auto& p : peers) {
    if (p->unprotected || is_self(p->rank)) continue;
    if (std::uint64_t bytes = logged_for(p->rank); bytes > most) {
      largest = p.get();
      most = bytes;
    }
  }
  return largest;
}

// Bytes in the logs of this incarnation and those before.
std::uint64_t EngineImpl::logged_for(Rank receiver) const {
  std::uint64_t bytes = log_->appended(receiver.value);
  for (const auto& past : own_past_) bytes += past->control().stream(receiver.value).tail;
  return bytes;
}

// An unprotected rank tells how far it needs a sender's log.
void EngineImpl::publish_log_done(Peer& from) {
  if (from.in.feeding || from.in.log_references > 0 || from.in.fed != from.incarnation) return;
  tell_log_done(from, segment::inbound_word(from.incarnation, from.in.cursor));
}

// A receiver that has finished takes nothing any more: what is sent to it without a log, for the most part again by a new
// incarnation, is done.
void EngineImpl::discard_unlogged(Peer& to) {
  auto done = [](SendOperation* op) {
    if (op) op->complete = true;
  };
  for (QueuedFrame& frame : to.out.queue) done(frame.send);
  for (Transfer& transfer : to.out.transfers) done(transfer.send);
  for (auto& [name, op] : to.out.rendezvous) done(op);
  to.out.queue.clear();
  to.out.transfers.clear();
  to.out.rendezvous.clear();
  std::erase_if(to.out.synchronous, [](const auto& awaited) { return awaited.second->complete; });
}

// An unprotected receiver that lives needs what it has not taken yet; it tells once a channel of ours has come.
bool EngineImpl::needs_stream(Peer& to) {
  if (to.state == wire::RankState::finished) return false;  // and never runs again: it was unprotected
  if (!ensure_open(to)) return true;
  const std::uint64_t word = log_done_of(to);
  return word == 0 || to.out.sent != log_->appended(to.rank.value) || (word & segment::taken_mask) != (to.out.sent & segment::taken_mask);
}

// Gives the log stream of an unprotected receiver back once the receiver needs nothing of it any more.
void EngineImpl::release_stream(Peer& to) {
  if (!job.logging || needs_stream(to)) return;
  if (to.state == wire::RankState::finished) {
    discard_unlogged(to);  // transfers from the stream among it
    to.out.sent = log_->appended(to.rank.value);
  }
  if (borrowed(to) || !to.out.transfers.empty()) return;  // taken from the log meanwhile
  log_->release(to.rank.value);
  to.out.stream_released = true;
  // It has gone over to this incarnation's log, so that it needs nothing of those before either; and what was sent before
  // will be sent again.
  if (own_past_.empty()) return;
  if (sent_before_) sent_before_->forget(to.rank);
  wire::RankName name{to.rank.value};
  agent->tell(wire::BootstrapKind::forget, name);
}

}  // namespace hf::engine
