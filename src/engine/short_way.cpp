// The short way of a small message inside a node, from the program's buffer to the ring and from the ring to a receive that was
// there first. Taken when nothing about the message is unusual, and then with the effect of the long way (send.cpp,
// receive.cpp); else nothing has been done.
#include "base/check.hpp"
#include "engine/engine_impl.hpp"

namespace hf::engine {

// Logged while it is on its way. If we die before, our next incarnation sends it again, and a receiver that has it drops that.
template <class Append>
[[gnu::always_inline]] inline void EngineImpl::leave_at_once(Peer& to, SendOperation& op, FrameHeader& header, Append&& append) {
  const int stream = to.rank.value;
  const std::uint64_t n = op.source.bytes;
  if (job.keeps_payloads) {
    header.flags |= wire::flag_logged;
    header.position = log_->appended(stream);
  }
  to.out.ring.put(header, [&op](MutableBytes out) { copy_short(out.data(), op.source.data, out.size()); });
  point("send.offered");
  wake(to);
  if (job.keeps_payloads) {
    append();
    point("send.logged");
    log_->publish(stream);
    point("send.published");
    count_logged(n);
    to.out.sent = log_->appended(stream);
  }
  to.out.eager_bytes += n;
  count_sent(n);
  op.complete = true;
}

bool EngineImpl::send_at_once(SendOperation& op) {
  Peer& to = peer(op.destination);
  const std::uint64_t n = op.source.bytes;
  if (node_level_) flush_clock_reads();  // what has no event yet gets one, and closes the gate
  const bool usual = to.out.open && to.local && to.out.queue.empty() && !sent_before_ && !to.unprotected && protocol.gate().open() &&
                     n <= rail::shm::ring_payload_max && (op.source.data || n == 0) && op.mode == SendMode::standard &&
                     agent->board_epoch() == board_epoch_ && has_credit(to, n);
  if (!usual) return false;
  const segment::Inbound& progress = to.newest_log->control().inbound(job.self);
  if (!to.out.ring.has_room(FrameKind::eager, n, progress, incarnation)) return false;
  const int stream = to.rank.value;
  if (job.keeps_payloads && (to.out.sent != log_->appended(stream) || !log_->fits(stream, n))) [[unlikely]] {
    return send_across_chunks(to, op);
  }
  FrameHeader header = header_of(op);
  leave_at_once(to, op, header, [&] { log_->append_at_once(stream, header, op.source.data); });
  return true;
}

// What does not fit what is left of the log's chunk. Apart, so that the usual message keeps its registers.
[[gnu::cold, gnu::noinline]] bool EngineImpl::send_across_chunks(Peer& to, SendOperation& op) {
  const int stream = to.rank.value;
  if (to.out.sent != log_->appended(stream) || !log_has_room(op.source.bytes)) return false;
  FrameHeader header = header_of(op);
  leave_at_once(to, op, header, [&] {
    log_->append(stream, header, [&op](std::uint64_t offset, MutableBytes out) { fill_from(op.source, offset, out); });
  });
  return true;
}

bool EngineImpl::take_at_once(Peer& from, const rail::shm::RingFrame& frame) {
  const FrameHeader& header = frame.header;
  const bool logged = header.flags & wire::flag_logged, numbered = header.flags & wire::flag_numbered;
  const bool usual = header.kind == FrameKind::eager && !(header.flags & ~(wire::flag_logged | wire::flag_numbered)) &&
                     header.length == frame.payload.size() && from.in.unlogged.empty() && from.in.depends.empty() &&
                     !(logged && header.position < from.in.cursor);
  if (!usual) return false;
  ContextState* state = contexts.find(Context{header.context});
  if (!state) return false;
  ContextPeer& arrivals = state->peer(from.rank);
  const Sequence number{header.sequence};
  if (!arrivals.arrivals.is_next(number) || !arrivals.early.empty()) return false;
  RecvOperation* op = numbered ? state->take_posted(from.rank, number) : state->take_posted(from.rank, MessageTag{header.tag});
  if (!op) return false;
  if (numbered) arrivals.arrivals.by_number(number);
  else arrivals.arrivals.in_order(number);
  if (logged) from.in.cursor = header.position + segment::padded(sizeof(FrameHeader) + header.length);
  receive_now(*op, from, header, frame.payload);
  takes_more_ = !numbered && !state->matcher.posted().empty();
  return true;
}

}  // namespace hf::engine
