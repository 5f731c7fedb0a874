// Announced payloads over a network: their first pieces follow the announcement, and go on for several times the receiver's credit
// for one peer, without waiting to be asked for. docs/tcp.md, Unasked.
#include "engine/engine_impl.hpp"

namespace hf::engine {

// Ranks that share their cores are often behind: they would throw the pieces away.
bool EngineImpl::could_follow(const Peer& to, FrameKind kind, const Source& source) const {
  const bool suits = !to.local && kind == FrameKind::rendezvous && source.data && source.bytes > eager_bytes_ && spins_;
  return suits && to.out.transfers.empty();
}

Transfer EngineImpl::unasked_transfer(Peer& to, const FrameHeader& announced) {
  to.out.followed = name_of(announced);
  Transfer t = transfer_of(announced);
  t.end = unasked_bytes(announced.length);
  t.unasked = true;
  return t;
}

// Each piece is copied into the log when it is on its way. What the rail does not take in that time is sent from the log.
void EngineImpl::send_following(Peer& to, const FrameHeader& announced, const segment::Record& record, const Source& source,
                                LogAhead& log) {
  Transfer t = unasked_transfer(to, announced);
  t.record = record;
  for (bool taken = true; t.next < t.end && (taken || !log.is_whole());) {
    taken = offer_piece(to, t, &source);
    point("rendezvous.following");
    log.copy(tcp_piece_bytes);
  }
  if (t.next < t.end) to.out.transfers.push_back(t);
}

// Without a log the operation is complete when the receiver has said what it still wants (start_transfer), be it nothing.
void EngineImpl::follow_unlogged(Peer& to, const FrameHeader& announced, SendOperation& op) {
  Transfer t = unasked_transfer(to, announced);
  t.send = &op;
  to.out.transfers.push_back(t);
  pump_transfers(to);
}

// From the start, although pieces were sent: they were not taken, and those that have not left need not.
void EngineImpl::on_asked_anyway(Peer& to, const FrameHeader& request) {
  if (request.offset != 0 || to.out.followed != name_of(request)) return;
  to.out.followed.reset();
  to.out.unasked.on_thrown_away();
  for (Transfer& t : to.out.transfers) {
    if (t.unasked && name_of(t.header) == name_of(request)) t.end = t.next;
  }
}

// While its log is read the announcement has to wait, and what follows it is not taken.
void EngineImpl::on_followed(Peer& from, FrameHeader announced) {
  from.in.following = {name_of(announced), from.in.feeding};
  announced.flags &= static_cast<std::uint8_t>(~wire::flag_follows);
  on_rail_frame(from, announced, {});
}

// True: the payload of this message, which has been matched, comes without being asked for; what does not is asked for here.
bool EngineImpl::take_following(Peer& from, Message& m) {
  if (from.in.following.name != name_of(m.header) || from.in.following.missed || m.wanted < m.header.length) return false;
  from.in.receiving[name_of(m.header)] = &m;
  const std::uint64_t unasked = unasked_bytes(m.header.length);
  if (unasked < m.header.length || !(m.header.flags & wire::flag_logged)) ask_for(from, m.header, unasked, m.header.length);
  return true;
}

}  // namespace hf::engine
