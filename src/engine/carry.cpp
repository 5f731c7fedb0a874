// Level `node`: determinants that are not stable yet go with the message that depends on them, to a rank of the holder's node, which
// keeps them for its agent: there they are where they had to be before the message may be taken (docs/node-loss.md).
#include <atomic>

#include "engine/engine_impl.hpp"
#include "segment/carried_events.hpp"

namespace hf::engine {

using segment::CarriedEvents;

// Of what the agent may not have given to the holder yet, enough for any frame that carries events.
void EngineImpl::keep_recent(Bytes events) {
  recent_events_.resize(CarriedEvents::capacity);
  std::uint64_t at = past_events_ + log_->published(job.rank_count) - events.size();
  for (std::byte b : events) recent_events_[at++ % CarriedEvents::capacity] = b;
}

bool EngineImpl::holds_events(const Peer& to) const {
#ifdef HOLDFAST_MUTATE_CARRY_TO_ANYBODY
  return agent->events_holder() >= 0;
#endif
  return agent->events_holder() == to.agent.value;
}

// The gate is closed. True: a frame to this peer may leave behind what is in carried_now_.
bool EngineImpl::carry(Peer& to) {
  carried_now_.clear();
  if (to.local || !to.out.open || !holds_events(to)) return false;
  const AgentLink::Stable stable = agent->stable();
  const std::uint64_t end = past_events_ + log_->published(job.rank_count);
  const TestClock failed = protocol.last_failed();
  const bool kept = stable.events >= past_events_ && stable.last_failed >= past_failed_ && end - stable.events <= CarriedEvents::capacity;
  if (!kept) return false;
  if (end - stable.events > CarriedEvents::capacity / 2) tell_agent();
  // The agent names another holder after it has taken the word back and has looked at these.
  segment::store_relaxed(control.header().carried_events, end);
  segment::store_relaxed(control.header().carried_failed, failed.value);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!holds_events(to)) return false;
  if (to.out.carried == Carried{end, failed}) return true;
  const std::uint64_t begin = std::max(stable.events, to.out.carried.end);
  FrameHeader h;
  h.kind = FrameKind::events;
  h.incarnation = incarnation.value;
  h.source = job.self.value;
  h.context = agent->events_term(job.self).value;
  h.sequence = failed.value;
  h.offset = begin;
  h.length = end - begin;
  carrying_ = {end, failed};
#ifdef HOLDFAST_MUTATE_CARRY_NOTHING
  return true;
#endif
  ByteWriter out(carried_now_);
  out.put(h);
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t from = at % CarriedEvents::capacity, n = std::min(end - at, CarriedEvents::capacity - from);
    out.put_bytes(Bytes(recent_events_).subspan(from, n));
    at += n;
  }
  return true;
}

// After carry(): the message, and before it what it depends on. To be published after that by publish_carrying().
bool EngineImpl::offer_carrying(Peer& to, SendOperation& op, const segment::Record& record, std::uint8_t flags) {
  const bool offered = offer_record(to, record, &op.source, flags | wire::flag_ahead);
  if (offered && !carried_now_.empty()) to.out.carried = carrying_;
  carried_now_.clear();
  return offered;
}

void EngineImpl::publish_carrying(Peer& to) {
  const AgentLink::Stable stable = agent->stable();
  log_->publish_gated(to.rank.value, to.out.carried.end, to.out.carried.failed, stable.events, stable.last_failed);
}

// As send_logged, while the gate is closed. False: the message must wait at the gate.
bool EngineImpl::send_carrying(Peer& to, SendOperation& op, const segment::Record& record) {
  if (!carry(to) || !offer_carrying(to, op, record)) return false;
  publish_carrying(to);
  point("send.published");
  await_match(to, op);
  to.out.sent = log_->appended(to.rank.value);
  return true;
}

// Determinants of a peer, before the message that depends on them. An agent that refuses them hosts the peer's next incarnation, or knows
// who does: what this one still sends is taken from nobody.
void EngineImpl::on_events(Peer& from, const FrameHeader& header, Bytes payload) {
  const Term term{static_cast<std::uint32_t>(header.context)};
  auto refused_below = [&] { return agent->events_term(from.rank); };
  if (!CarriedEvents(control, from.rank).take(term, header.offset, TestClock{header.sequence}, payload, refused_below)) from.in.fenced = true;
}

}  // namespace hf::engine
