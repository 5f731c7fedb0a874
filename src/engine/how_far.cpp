// How far this rank has come, against what others know of its predecessors; and what it tells others of that, if they are being recovered.
//
// Of a rank that was lost with its node the calls are not known. Its predecessors had come at least as far as others have had messages of them, and as MPI_Finalize if others have left
// that. Others are peers that were not lost, which tell when they open their channels, and peers that are being recovered themselves: such a one is `level` once it has done all that others
// know of its predecessors, and if it is not, and waits for a message, its predecessor had that message. So a rank that others may still need is level with its predecessors when all others
// are, and until then waits for one of them to wait for it. Who is level without regard to those that are not yet stays level without regard to them, so that asking each once is enough.
#include "engine/engine_impl.hpp"

namespace hf::engine {

// Messages of a rank that this one has taken, of all its incarnations.
std::uint64_t EngineImpl::messages_taken(const Peer& from) {
  if (!job.logging || from.incarnation.value == 0) return 0;  // nobody asks
  std::uint64_t sum = from.closed_taken;
  contexts.each([&](Context, ContextState& state) { sum += state.peer(from.rank).arrivals.below(); });
  return sum;
}

std::uint64_t EngineImpl::messages_sent(const Peer& to) {
  std::uint64_t sum = to.closed_sent;
  contexts.each([&](Context, ContextState& state) { sum += state.peer(to.rank).next_send.value; });
  return sum;
}

// How many messages of this rank and its predecessors a peer is known to have had: it tells when it opens its channel, and when it waits for one more that its own predecessors had.
std::uint64_t EngineImpl::taken_before(Peer& peer) const {
  std::uint64_t& taken = peer.out.taken_before;
  if (peer.local && has_told(peer)) taken = std::max(taken, segment::load_acquire(peer.newest_log->control().inbound(job.self).taken_before));
  return taken;
}

// A peer tells when its channel opens.
bool EngineImpl::has_told(const Peer& peer) const {
  if (!peer.local) return peer.out.open && peer.out.credit_known;
  return peer.newest_log && segment::inbound_is_of(segment::load_acquire(peer.newest_log->control().inbound(job.self).released), incarnation);
}

bool EngineImpl::is_level(const Peer& peer) const {
  if (peer.incarnation.value == 0) return peer.running();
  if (!peer.local) return peer.out.level;
  return peer.newest_log && segment::load_acquire(peer.newest_log->control().header().level) != 0;
}

EngineImpl::Behind EngineImpl::behind_peers() {
  Behind behind;
  behind.to_call = calls.number <= known_calls_;
  for (const auto& peer : peers) {
    if (peer->rank == job.self) continue;
    const std::uint64_t taken = taken_before(*peer), sent = messages_sent(*peer);
    behind.known |= taken > 0;
    if (taken > sent) behind.messages += taken - sent;
    if (peer->state == wire::RankState::finished) {
      behind.to_finalize |= in_world;  // sessions end at any time
      continue;
    }
    behind.all_told &= has_told(*peer);
#ifndef HOLDFAST_MUTATE_LEVEL_ALONE
    behind.all_level &= is_level(*peer);
#endif
  }
  return behind;
}

// As far as anybody has told: only people want to know it. If nobody has, it is so when this rank comes to MPI_Finalize.
bool EngineImpl::has_come_as_far() {
  const Behind behind = behind_peers();
  return behind.known && behind.messages == 0;
}

// All that others know has been done again, but for what ranks that are being recovered may yet find that they know.
bool EngineImpl::is_level() {
  if (level_ || is_behind() || protocol.replaying()) return level_;
  const Behind behind = behind_peers();
  level_ = past_is_known_ || (behind.none() && behind.all_told);
  if (level_) segment::store_release(control.header().level, std::uint32_t{1});
  return level_;
}

// Of peers that had nothing of this rank it is not known before they are asked; the others open their channels by themselves.
void EngineImpl::ask_how_far() {
  segment::store_release(control.header().asks_how_far, std::uint32_t{1});
  for (Peer* p : remote_peers_) look_up(*p);
  for (auto& p : peers) {
    if (!p->running() || p->rank == job.self) continue;
    ensure_open(*p);
    if (p->incarnation.value == 0 || !p->out.open || std::exchange(p->out.asked_how_far, true)) continue;
    if (p->local) ring_doorbell(*p);
    else tell_credit(*p, 0, wire::flag_asks);
  }
}

// Until it is known whether the predecessors had gone on.
void EngineImpl::hear_how_far() {
  constexpr std::int64_t patience_ns = 10'000'000'000;  // one may wait outside MPI for what this rank does next
  const std::int64_t until = now_ns() + patience_ns;
  auto heard = [this, until] {
    ask_how_far();
    const Behind behind = behind_peers();
    return !behind.none() || (behind.all_told && behind.all_level) || now_ns() > until;
  };
  hears_how_far_ = true;
  wait_on(segment::several_ranks, heard);
  hears_how_far_ = false;
}

bool EngineImpl::is_asked_by(const Peer& peer) const {
  if (!peer.running()) return false;
  if (!peer.local) return peer.in.asks_how_far;
  return peer.newest_log && segment::load_acquire(peer.newest_log->control().header().asks_how_far) != 0;
}

// `awaited`: for whom this rank waits. Who is level may be needed all the same by one that is being recovered, and then need others.
void EngineImpl::answer_how_far(Rank awaited) {
  if (!restarted || !job.logging) return;  // who has no predecessors is not asked
  if (std::ranges::none_of(peers, [this](const auto& p) { return is_asked_by(*p); })) return;
  if (!past_is_known_) ask_how_far();
#ifdef HOLDFAST_MUTATE_LEVEL_NEEDS_NOTHING
  if (is_level()) awaited = segment::no_rank;
#endif
  if (awaited.value >= 0 && !is_self(awaited)) tell_awaited(peer(awaited));
  if (!is_level()) return;
  for (Peer* p : remote_peers_) {
    if (p->in.asks_how_far && p->out.open && !std::exchange(p->in.told_level, true)) tell_credit(*p, 0, wire::flag_level);
  }
}

// A message that the predecessors had had, and that nobody else knows of.
void EngineImpl::tell_awaited(Peer& from) {
  if (!is_asked_by(from) || (!is_behind() && behind_peers().none()) || !awaits_message(from)) return;
  const std::uint64_t awaited = messages_taken(from) + 1;
  if (from.local) return segment::store_release(control.inbound(from.rank).taken_before, awaited);
  if (std::exchange(from.in.told_awaited, awaited) != awaited) tell_credit(from, awaited);
}

// This rank, which waits for `from`, waits for a message that has not been sent: not for the end of one, nor for what it sends itself.
bool EngineImpl::awaits_message(Peer& from) {
  if (probes_) return true;
  const bool sends = !from.out.synchronous.empty() || !from.out.queue.empty() || std::ranges::any_of(held_, [&](const HeldSend& send) { return send.to == &from; });
  if (sends || !from.in.receiving.empty()) return false;
  bool awaits = false;
  contexts.each([&](Context, ContextState& state) {
    auto& posted = state.matcher.posted();
    for (core::match::Posted* op = posted.first(); op; op = posted.after(*op)) awaits |= op->source == from.rank;
    awaits |= state.peer(from.rank).numbered_posted.first() != nullptr;
  });
  return awaits;
}

}  // namespace hf::engine
