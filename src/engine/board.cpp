// Births and deaths of peers, as the agent's board tells them.
#include "engine/engine_impl.hpp"

namespace hf::engine {

void EngineImpl::check_board() {
  board_epoch_ = agent->board_epoch();
  for (auto& p : peers) {
    wire::BoardEntry entry = agent->board_entry(p->rank);
    if (optimist_) look_at_cuts();  // first: one that came before what this entry says is of the incarnations before
    bool unprotected = entry.incarnation_and_state & wire::board_unprotected;
    if (is_self(p->rank)) {
      self_unprotected_ = unprotected;
      continue;
    }
    p->unprotected = unprotected;
    on_cut(*p, entry);
    auto state = static_cast<wire::RankState>(entry.incarnation_and_state & wire::board_state_mask);
    Incarnation newest{static_cast<std::uint32_t>(entry.incarnation_and_state >> 8)};
    // The board may lag behind what a connection of the peer's newest incarnation has told.
    if (state == wire::RankState::absent || newest < p->incarnation) continue;
    on_place(*p, entry, newest);
    take_log_address(*p, entry);
    p->address_and_port = entry.address_and_port;
    if (newest > p->incarnation) on_incarnation(*p, newest);
    if (state != p->state) on_state(*p, state);
  }
}

void EngineImpl::take_log_address(Peer& p, const wire::BoardEntry& entry) {
  const std::uint64_t address = entry.log_address_and_port;
  const NodeId agent{static_cast<std::int32_t>(entry.agent_and_log_base >> 32)};
  if (p.local || !remote_log_ || address == 0 || agent != p.agent || (agent == p.log_agent && address == p.log_address_and_port)) return;
  p.log_agent = agent;
  p.log_address_and_port = address;
  remote_log_->agent(p.agent, static_cast<std::uint32_t>(address >> 16), static_cast<std::uint16_t>(address & 0xffff));
}

// Fault injection: no byte passes between its node and ours.
void EngineImpl::on_cut(Peer& p, const wire::BoardEntry& entry) {
  const bool cut_off = entry.cut_off != 0;
  if (p.local) return;
  rail_->hold(p.rank, cut_off);
  if (remote_log_ && job.logging) remote_log_->hold(NodeId{static_cast<std::int32_t>(entry.agent_and_log_base >> 32)}, cut_off);
  if (std::exchange(p.cut_off, cut_off) && !cut_off && p.running()) ensure_open(p);
}

// Its logs are elsewhere, and begin anew: its node was lost, and what it had logged there with it. Who it sends to from there on
// has begun there too, so that nobody becomes local.
void EngineImpl::on_place(Peer& p, const wire::BoardEntry& entry, Incarnation newest) {
  const Incarnation base{static_cast<std::uint32_t>(entry.agent_and_log_base)};
  if (base <= p.log_base || newest < base) return;
  p.log_base = base;
  p.agent = NodeId{static_cast<std::int32_t>(entry.agent_and_log_base >> 32)};
  if (!job.logging || (p.local && !optimist_)) return;
  cancel_question(p);
  if (!p.local) lose_unfinished(p);  // else its logs so far stay readable
  if (!p.local) expect_again(p);
  if (p.in.fed >= base) return;
  p.in.fed = base;
  p.in.cursor = 0;
  ++p.in.begun_again;
  p.in.ask_again_at = 0;
  p.in.exhausted = p.in.behind = false;
  p.in.feeding = true;
  p.in.reader.reset();
}

// Messages of which the envelope came and not all of the payload; some may stand here twice.
std::vector<Message*> EngineImpl::unfinished(Peer& p) {
  std::vector<Message*> out;
  auto add = [&](Message& m) {
    if (m.source == p.rank && m.payload != Message::Payload::held) out.push_back(&m);
  };
  for (auto& [id, m] : fetches_) add(*m);
  for (auto& [name, m] : p.in.receiving) add(*m);
  for (Message* m : probed_) add(*m);
  contexts.each([&](Context, ContextState& state) {
    auto& unexpected = state.matcher.unexpected();
    for (core::match::Arrived* m = unexpected.first(); m; m = unexpected.after(*m)) add(static_cast<Message&>(*m));
    ContextPeer& arrivals = state.peer(p.rank);
    for (auto& [number, m] : arrivals.early) add(*m);
    for (Message* m = arrivals.numbered_arrived.first(); m; m = arrivals.numbered_arrived.after(*m)) add(*m);
  });
  return out;
}

// They keep their place and their match, and come again.
void EngineImpl::lose_unfinished(Peer& p) {
  const std::vector<Message*> all = unfinished(p);
  std::erase_if(p.in.receiving, [&](const auto& named) { return named.second->header.incarnation < p.log_base.value; });
  for (Message* m : all) {
    if (m->header.incarnation >= p.log_base.value) continue;
    give_up_fetch(*m);
    m->payload = Message::Payload::at_sender;
    m->header.flags &= static_cast<std::uint8_t>(~wire::flag_logged);
    if (std::exchange(m->needs_log, false)) --p.in.log_references;
    m->arrived = 0;
    p.in.unlogged.emplace(name_of(m->header), m);
  }
}

void EngineImpl::on_incarnation(Peer& p, Incarnation newest) {
  p.incarnation = newest;
  if (optimist_) p.out.taken_before = 0;  // it may have been rolled back behind what it told of
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
  if (state == wire::RankState::finished && job.keeps_payloads && (p.local || !p.in.open)) p.in.feeding = true;
  // A new incarnation learns at once from where our channel continues, although we may have nothing to say.
  if (state == wire::RankState::running && job.logging && p.incarnation.value > 0) ensure_open(p);
}

// The peer's incarnation has ended: the next one takes from the log what was not offered yet.
void EngineImpl::reset_outgoing(Peer& p) {
  reset_channel_out(p);
  if (job.logging) p.out.sent = log_->published(p.rank.value);
}

void EngineImpl::reset_channel_out(Peer& p) {
  p.out.open = p.out.asked_how_far = p.out.level = false;
  p.out.carried = {};
  p.out.followed.reset();
  p.out.ring.close();
  for (QueuedFrame& f : p.out.queue) f.taken = false;  // it may not have arrived whole
  if (!job.keeps_payloads) return;
  // Said again when needed, but for what is in the log of no unprotected peer, which lives on.
  std::erase_if(p.out.queue, [&p](const QueuedFrame& f) { return !f.send && !(p.unprotected && f.header.kind == FrameKind::matched); });
  p.out.transfers.clear();
  p.out.eager_bytes = p.out.released = 0;
}

void EngineImpl::reset_incoming(Peer& p) {
  p.in.open = p.in.fenced = p.in.asks_how_far = p.in.told_level = false;
  p.in.told_awaited = 0;
  p.in.ring.close();
  p.in.following = {};
  p.in.memory.close();
  p.in.memory_refused = false;
  if (!job.keeps_payloads) return;
  p.in.feeding = true;
  p.in.behind = false;
  p.in.waiting.clear();  // they are in the log too, or come again
  forget_again(p);
  if (!p.local) fetch_what_was_coming(p);
  p.in.released = 0 - (p.in.held_bytes - p.in.held_log_bytes);  // the next channel's credit is the limit less what is still held
}

}  // namespace hf::engine
