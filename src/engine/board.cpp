// Births and deaths of peers, as the agent's board tells them.
#include "engine/engine_impl.hpp"

namespace hf::engine {

void EngineImpl::check_board() {
  board_epoch_ = agent->board_epoch();
  for (auto& p : peers) {
    wire::BoardEntry entry = agent->board_entry(p->rank);
    bool unprotected = entry.incarnation_and_state & wire::board_unprotected;
    if (is_self(p->rank)) {
      self_unprotected_ = unprotected;
      continue;
    }
    p->unprotected = unprotected;
    auto state = static_cast<wire::RankState>(entry.incarnation_and_state & wire::board_state_mask);
    Incarnation newest{static_cast<std::uint32_t>(entry.incarnation_and_state >> 8)};
    // The board may lag behind what a connection of the peer's newest incarnation has told.
    if (state == wire::RankState::absent || newest < p->incarnation) continue;
    p->address_and_port = entry.address_and_port;
    if (newest > p->incarnation) on_incarnation(*p, newest);
    if (state != p->state) on_state(*p, state);
  }
}

void EngineImpl::on_incarnation(Peer& p, Incarnation newest) {
  p.incarnation = newest;
  p.lost_since = 0;
  p.state = wire::RankState::absent;  // the death between may not have been seen: on_state must run for this one
  p.newest_log = nullptr;
  if (!p.local) {
    rail_->peer_incarnation(p.rank, newest);
    p.in.exhausted = false;
  }
  reset_outgoing(p);
  reset_incoming(p);
}

void EngineImpl::on_state(Peer& p, wire::RankState state) {
  p.state = state;
  if (state == wire::RankState::dead) {
    p.lost_since = 0;  // its next incarnation sends again what is in no log
    if (!p.local && job.logging) rail_->close(p.rank);
    reset_outgoing(p);
    reset_incoming(p);
  }
  if (state == wire::RankState::finished && p.unprotected) discard_unlogged(p);
  // What it had logged and not yet offered when it ended is taken from its log. A connection that is open still brings what
  // is on its way, and its end makes us look into the log (on_closed).
  if (state == wire::RankState::finished && job.logging && (p.local || !p.in.open)) p.in.feeding = true;
  // A new incarnation learns at once from where our channel continues, although we may have nothing to say.
  if (state == wire::RankState::running && job.logging && p.incarnation.value > 0) ensure_open(p);
}

// The peer's incarnation has ended: the next one takes from the log what was not offered yet.
void EngineImpl::reset_outgoing(Peer& p) {
  reset_channel_out(p);
  if (job.logging) p.out.sent = log_->appended(p.rank.value);
}

void EngineImpl::reset_channel_out(Peer& p) {
  p.out.open = false;
  p.out.ring.close();
  for (QueuedFrame& f : p.out.queue) f.taken = false;  // it may not have arrived whole
  if (!job.logging) return;
  std::erase_if(p.out.queue, [](const QueuedFrame& f) { return f.send == nullptr; });  // said again when needed
  p.out.transfers.clear();
  p.out.eager_bytes = p.out.released = 0;
}

void EngineImpl::reset_incoming(Peer& p) {
  p.in.open = false;
  p.in.ring.close();
  p.in.memory.close();
  p.in.memory_refused = false;
  if (!job.logging) return;
  p.in.feeding = true;
  p.in.behind = false;
  p.in.waiting.clear();  // they are in the log too, or come again
  if (!p.local) fetch_what_was_coming(p);
  p.in.released = 0 - (p.in.held_bytes - p.in.held_log_bytes);  // the next channel's credit is the limit less what is still held
}

}  // namespace hf::engine
