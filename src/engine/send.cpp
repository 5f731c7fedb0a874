// Sending: the life of a message from the program's call to the rail (design section 4).
#include <fmt/format.h>

#include "base/check.hpp"
#include "engine/engine_impl.hpp"

namespace hf::engine {

void EngineImpl::send_next(SendOperation& op) {
  Sequence& next = contexts.find(op.context)->peer(op.destination).next_send;
  op.sequence = next;
  ++next;
  send(op);
}

void EngineImpl::send_long_way(SendOperation& op) {
  op.complete = false;
  FrameHeader header = header_of(op);
  if (is_self(op.destination)) return send_to_self(op, header);
  Peer& to = peer(op.destination);
  if (agent->board_epoch() != board_epoch_) check_board();
  if (sent_before_ && send_again(to, op, header)) return;
  if (optimist_) tell_dependencies(to);  // before room is reserved for the message
  if (job.keeps_payloads && !to.unprotected && reserve(to, header.length)) send_logged(to, op, header);
  else send_unlogged(to, op, header);
  if (optimist_) end_carrying();
}

void EngineImpl::send_to_self(SendOperation& op, const FrameHeader& header) {
  bool synchronous = op.mode == SendMode::synchronous;
  op.complete = !synchronous;
  std::vector<std::byte> packed;
  Bytes whole(op.source.data, op.source.bytes);
  if (op.source.bytes && !op.source.data) {
    packed.resize(op.source.bytes);
    op.source.pack(op.source.self, 0, packed);
    whole = packed;
  }
  self_synchronous_ = synchronous ? &op : nullptr;
  accept(peer(job.self), header, whole, nullptr, nullptr);
  self_synchronous_ = nullptr;
}

// A send that a predecessor has made already: compared, not transmitted (design section 6.4).
bool EngineImpl::send_again(Peer& to, SendOperation& op, const FrameHeader& header) {
  auto found = sent_before_->take(to.rank, false, op.context, op.sequence);
  if (sent_before_->damaged()) abort(1, "a damaged record in the log of this rank's predecessor");
  if (!found) {
    const bool all_known = !to.unprotected && !sent_before_->has_dropped(to.rank);  // else it is sent again, and dropped there by its number
    if (!op.numbered && calls.number < past_published_calls_ && calls.number > 0 && all_known) {
      diverged(fmt::format("MPI call {}: the replay sends message {} to rank {} which the run before did not send", calls.number,
                           op.sequence.value, to.rank.value));
    }
    return false;
  }
  const FrameHeader& before = found->record.header;
  if (before.tag != header.tag || before.length != header.length) {
    diverged(fmt::format("MPI call {}: the replay sends to rank {} tag {} with {} bytes, the run before tag {} with {} bytes",
                         calls.number, to.rank.value, header.tag, header.length, before.tag, before.length));
  }
  std::uint64_t same = sent_before_->compare(
      *found, to.rank, [&op](std::uint64_t offset, MutableBytes out) { fill_from(op.source, offset, out); });
  if (same < header.length) {
    report_divergence(fmt::format("MPI call {}: the message to rank {} differs from the run before at byte {} of {}", calls.number,
                                  to.rank.value, same, header.length));
  }
  ++counters().sends_suppressed;
  await_match(to, op);
  return true;
}

void EngineImpl::await_match(Peer& to, SendOperation& op) {
  if (op.mode != SendMode::synchronous) {
    op.complete = true;
    return;
  }
  MessageName name{op.context, op.sequence};
  if (to.out.early_matched.erase(name)) op.complete = true;
  else to.out.synchronous.emplace(name, &op);
}

// The caller has reserved room in the log.
void EngineImpl::send_logged(Peer& to, SendOperation& op, FrameHeader header) {
  int stream = to.rank.value;
  header.flags |= wire::flag_logged;
  if (header.length > announced_above(to)) header.kind = FrameKind::rendezvous;
  const bool open = optimist_ || is_settled();
  const bool nothing_waits = has_offered_all(to);
  if (nothing_waits) carried_now_.swap(dependencies_now_);
  if (open && nothing_waits && may_expose(to, op) && ensure_open(to)) return send_exposed(to, op, header);
  if (nothing_waits && leaves_ahead(to, op) && ensure_open(to) && (open || carry(to))) return send_ahead(to, op, header, open);
  auto fill = [&op](std::uint64_t offset, MutableBytes out) { fill_from(op.source, offset, out); };
  segment::Record record = log_->append(stream, header, fill);
  point("send.logged");
  count_logged(header.length);
  if (!open && nothing_waits && send_carrying(to, op, record)) return;
  if (must_wait(to, op, header.kind)) return;
  log_->publish(stream);
  point("send.published");
  await_match(to, op);
  if (nothing_waits && ensure_open(to) && offer_record(to, record, &op.source)) to.out.sent = log_->appended(stream);
  else wake(to);
  if (!nothing_waits) offer_backlog(to);
}

// Who only sends, to whom all is complete at once, never waits: what had no room before is offered with what comes after it. Over TCP the connection
// has to be heard as well, before it is there.
void EngineImpl::offer_backlog(Peer& to) {
  pump_log(to);
  if (to.local || to.out.sent == log_->published(to.rank.value)) return;
  hears_rails_ = true;
  calls.look_at = std::min(calls.look_at, calls.number + calls_unheard_max);
}

// At the gate, for events that are not stable; the record that was appended last is published when it opens.
bool EngineImpl::must_wait(Peer& to, SendOperation& op, FrameKind kind) {
  if (optimist_ || protocol.gate().offer(kind, 0)) return false;
  const bool synchronous = op.mode == SendMode::synchronous;
  if (synchronous) await_match(to, op);
  hold(to, synchronous ? nullptr : &op);
  return true;
}

// Without a sender log, and to receivers that are no longer protected: the payload stays in the program's buffer until the rail has it.
void EngineImpl::send_unlogged(Peer& to, SendOperation& op, const FrameHeader& header) {
  if (job.logging) counters().bytes_unprotected += header.length;
  // Acknowledged to a predecessor: its payload is sent all the same, since it may not have arrived whole.
  bool awaited = op.mode == SendMode::synchronous && !to.out.early_matched.erase(name_of(header));
  if (awaited) to.out.synchronous.emplace(name_of(header), &op);
  if (job.keeps_payloads && to.state == wire::RankState::finished) {
    to.out.queue.push_back({header, &op, 0});
    return discard_unlogged(to);
  }
  settle();
  QueuedFrame frame{header, &op, protocol.gate().events()};
  if (to.out.queue.empty() && ensure_open(to) && offer_queued(to, frame)) return;
  to.out.queue.push_back(frame);
}

// Offers a record of the own log. `source`: its payload while it is still at hand, else it is read from the log.
bool EngineImpl::offer_record(Peer& to, const segment::Record& record, const Source* source, std::uint8_t flags) {
  FrameHeader h = record.header;
  h.check = 0;
  h.flags |= flags;
  if (h.kind == FrameKind::eager && !has_credit(to, h.length)) {
    if (awaits_credit(to)) return false;
    h.kind = FrameKind::rendezvous;
  }
  if (h.kind == FrameKind::rendezvous || !to.local) h.offset = record.chunk;
  bool at_hand = source && source->data;
  if (!offer(to, h, {at_hand ? source : nullptr, &record, 0})) return false;
  point(h.kind == FrameKind::rendezvous ? wire::RankPoint("rendezvous.announced") : wire::RankPoint("send.offered"));
  return true;
}

void EngineImpl::acknowledge(Peer& to, const FrameHeader& message) {
  FrameHeader h;
  h.kind = FrameKind::matched;
  h.incarnation = incarnation.value;
  h.source = job.self.value;
  h.context = message.context;
  h.sequence = message.sequence;
  if (sent_before_ && sent_before_->take(to.rank, true, Context{h.context}, Sequence{h.sequence})) return;
  if (optimist_ && !may_acknowledge(to, h)) return;
  send_acknowledgement(to, h);
}

void EngineImpl::send_acknowledgement(Peer& to, FrameHeader h) {
  if (!job.keeps_payloads || to.unprotected || !reserve_acknowledgement(to)) return send_control(to, h);
  h.flags |= wire::flag_logged;
  if (!optimist_) settle();
  bool nothing_waits = to.out.sent == log_->appended(to.rank.value);
  segment::Record record = log_->append(to.rank.value, h, [](std::uint64_t, MutableBytes) {});
  if (!optimist_ && !protocol.gate().offer(h.kind, 0)) return hold(to, nullptr);
  log_->publish(to.rank.value);
  point("acknowledge.published");
  if (nothing_waits && ensure_open(to) && offer_record(to, record, nullptr)) to.out.sent = log_->appended(to.rank.value);
  else wake(to);
}

bool EngineImpl::awaits_match(const Peer& to, const SendOperation& op) const {
  return op.mode == SendMode::synchronous && to.out.synchronous.contains({op.context, op.sequence});
}

// Its payload has left the program's buffer.
void EngineImpl::complete_unless_awaited(const Peer& to, SendOperation& op) const {
  if (!awaits_match(to, op)) op.complete = true;
}

void EngineImpl::send_control(Peer& to, const FrameHeader& header) {
  const bool gated = core::vprotocol::is_gated(header.kind);
  if (gated) settle();
  to.out.queue.push_back({header, nullptr, gated ? protocol.gate().events() : 0});
  pump_queue(to);
}

void EngineImpl::pump(Peer& to) {
  if (!to.out.queue.empty()) pump_queue(to);
  if (job.logging && to.out.sent != log_->published(to.rank.value)) pump_log(to);
  if (to.unprotected && !to.out.stream_released) release_stream(to);
  if (!to.out.transfers.empty()) pump_transfers(to);
}

void EngineImpl::pump_log(Peer& to) {
  if (!ensure_open(to)) return;
  if (!to.out.reader) to.out.reader.emplace(own_reader(to.rank));
  segment::LogReader& reader = *to.out.reader;
  reader.seek(StreamPosition{to.out.sent});
  while (to.out.sent != log_->published(to.rank.value)) {
    segment::LogReader before = reader;
    segment::Record record;
    HF_CHECK(reader.next(record));
    if (!offer_record(to, record, nullptr)) {
      reader = before;
      return;
    }
    to.out.sent = reader.position();
  }
}

void EngineImpl::pump_queue(Peer& to) {
  if (to.out.queue.empty() || !ensure_open(to)) return;
  while (!to.out.queue.empty()) {
    if (!offer_queued(to, to.out.queue.front())) return;
    to.out.queue.pop_front();
  }
}

bool EngineImpl::offer_queued(Peer& to, QueuedFrame& frame) {
  SendOperation* op = frame.send;
  if (frame.taken) {
    if (borrowed(to)) return false;
    complete_unless_awaited(to, *op);
    return true;
  }
  if (frame.needs > protocol.gate().stable()) return false;
  // A message that is not in the log must not overtake those that are.
  if (op && job.logging && to.out.sent != log_->appended(to.rank.value)) return false;
  bool eager = frame.header.kind == FrameKind::eager;
  if (eager && (frame.header.length > announced_above(to) || !has_credit(to, frame.header.length))) {
    frame.header.kind = FrameKind::rendezvous;
    eager = false;
  }
  bool exposes = op && !job.keeps_payloads && frame.header.kind == FrameKind::rendezvous && may_expose(to, *op);
  wire::Exposed exposed;
  if (exposes) exposed = {reinterpret_cast<std::uint64_t>(op->source.data), op->keeps_buffer ? 0 : wire::ticket_waits};
  if (exposes) fence_streamed();
  if (exposes) frame.header.flags |= wire::flag_exposed;
  const bool could = op && !job.keeps_payloads && could_follow(to, frame.header.kind, op->source);
  const bool follows = could && to.out.unasked.may_follow();
  frame.header.flags &= static_cast<std::uint8_t>(~wire::flag_follows);
  if (follows) frame.header.flags |= wire::flag_follows;
  if (!offer(to, frame.header, {.source = op ? &op->source : nullptr, .exposed = exposes ? &exposed : nullptr})) return false;
  if (op && frame.header.kind == FrameKind::rendezvous) to.out.rendezvous.emplace(name_of(frame.header), op);
  if (could) to.out.unasked.on_announced();
  if (follows) follow_unlogged(to, frame.header, *op);
  frame.taken = op && eager && borrowed(to);
  if (frame.taken) return false;
  if (op && eager) complete_unless_awaited(to, *op);
  return true;
}

Transfer EngineImpl::transfer_of(const FrameHeader& message) const {
  Transfer t;
  t.header.kind = FrameKind::data;
  t.header.incarnation = incarnation.value;
  t.header.source = job.self.value;
  t.header.context = message.context;
  t.header.sequence = message.sequence;
  return t;
}

// The receiver asks for a payload that it could not be given with the envelope.
void EngineImpl::start_transfer(Peer& to, const FrameHeader& request) {
  on_asked_anyway(to, request);
  Transfer transfer = transfer_of(request);
  transfer.next = request.offset;
  transfer.end = request.offset + request.length;
  auto unlogged = to.out.rendezvous.find(name_of(request));
  if (unlogged != to.out.rendezvous.end()) {
    transfer.send = unlogged->second;
    if (transfer.end > transfer.send->source.bytes || transfer.end < transfer.next) return;
    to.out.rendezvous.erase(unlogged);
  } else {
    if (!job.keeps_payloads || to.out.stream_released) return;
    segment::LogReader reader = own_reader(to.rank);
    auto chunk = static_cast<segment::ChunkId>(request.tag);
    if (!reader.at(StreamPosition{request.position}, chunk, transfer.record)) return;
    // A position in a predecessor's log: another record may stand there in ours.
    const FrameHeader& found = transfer.record.header;
    if (found.kind == FrameKind::matched || name_of(found) != name_of(request)) return;
    if (transfer.end > transfer.record.header.length || transfer.end < transfer.next) return;
  }
  point("rendezvous.asked");
  to.out.transfers.push_back(transfer);
  pump_transfers(to);
}

void EngineImpl::pump_transfers(Peer& to) {
  if (!ensure_open(to)) return;
  while (!to.out.transfers.empty()) {
    Transfer& t = to.out.transfers.front();
    while (t.next < t.end) {
      if (!offer_piece(to, t, t.send ? &t.send->source : nullptr)) return;
      point("rendezvous.piece");
    }
    if (t.send && borrowed(to)) return;
    finish_transfer(to, t);
    to.out.transfers.pop_front();
  }
}

bool EngineImpl::offer_piece(Peer& to, Transfer& t, const Source* source) {
  t.header.offset = t.next;
  t.header.length = std::min<std::uint64_t>(t.end - t.next, data_piece_bytes(to));
  if (!offer(to, t.header, {source, t.send ? nullptr : &t.record, t.next})) return false;
  t.next += t.header.length;
  return true;
}

// Protocol none: a synchronous rendezvous is matched (it was asked for), and now its buffer is free too. Not before it was asked for: the
// receiver may have thrown away what came unasked.
void EngineImpl::finish_transfer(Peer& to, const Transfer& t) {
#ifdef HOLDFAST_MUTATE_COMPLETE_UNASKED
  if (!t.send) return;
#else
  if (!t.send || t.unasked) return;
#endif
  if (t.send->mode == SendMode::synchronous) to.out.synchronous.erase({t.send->context, t.send->sequence});
  t.send->complete = true;
}

// MPI_Cancel: waiting for it is local from now on (MPI 5.0, 3.8.4). A message to this rank itself that is not matched is taken back; another one
// may be received or not.
void EngineImpl::complete_unmatched(SendOperation& op) {
  if (op.complete || op.mode != SendMode::synchronous) return;
  if (!is_self(op.destination)) return on_matched(peer(op.destination), {op.context, op.sequence});
  auto& unexpected = contexts.find(op.context)->matcher.unexpected();
  core::match::Arrived* m = unexpected.first();
  while (m && static_cast<Message*>(m)->self_synchronous != &op) m = unexpected.after(*m);
  if (!m) return;
  unexpected.remove(*m);
  drop(static_cast<Message&>(*m));
  op.cancelled = op.complete = true;
}

void EngineImpl::on_matched(Peer& from, MessageName name) {
  auto it = from.out.synchronous.find(name);
  if (it == from.out.synchronous.end()) {
    // Known already, unless the program has not sent the message yet: then it is replaying.
    ContextState* state = contexts.find(name.first);
    if (state && name.second >= state->peer(from.rank).next_send) from.out.early_matched.insert(name);
    return;
  }
  if (from.out.rendezvous.contains(name)) return;  // completed when its payload has been taken
  for (const Transfer& t : from.out.transfers) {
    if (t.send == it->second) return;
  }
  for (const QueuedFrame& f : from.out.queue) {  // what has not left completes when it has
    if (f.send == it->second) return void(from.out.synchronous.erase(it));
  }
  it->second->complete = true;
  from.out.synchronous.erase(it);
}

}  // namespace hf::engine
