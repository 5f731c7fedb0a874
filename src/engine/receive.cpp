// Receiving: from a frame or a log record to the program's buffer, exactly once (design rule 2).
#include "engine/engine_impl.hpp"

namespace hf::engine {
// ---- what the program asks

void EngineImpl::post(RecvOperation& op) {
  ContextState* state = contexts.find(op.context);
  op.any_source = op.source == any_rank;
  if (job.logging) {
    Rank asked = op.source;
    op.number = protocol.on_post(op);
    if (!op.any_source && op.source != asked) diverged_source(asked, op.source);
    op.forced = op.any_source && op.source != any_rank;
  }
  if (core::match::Arrived* m = state->matcher.post(op)) complete(op, static_cast<Message&>(*m));
  after_call();
}

void EngineImpl::post_numbered(ContextState& state, RecvOperation& op) {
  if (Message* message = state.take_arrived(op.source, op.sequence)) return complete(op, *message);
  state.peer(op.source).numbered_posted.push_back(op);
}

void EngineImpl::post_next_numbered(RecvOperation& op) {
  ContextState& state = *contexts.find(op.context);
  Sequence& next = state.peer(op.source).next_recv;
  op.sequence = next;
  ++next;
  post_numbered(state, op);
}

void EngineImpl::recv_matched(RecvOperation& op, Message& message) {
  std::erase(probed_, &message);
  op.matched = true;
  op.source = message.source;
  op.tag = message.tag;
  op.bytes = message.header.length;
  take_payload(op, message);
}

bool EngineImpl::cancel(RecvOperation& op) {
  using Plan = Pessimist::CancelPlan;
  auto plan = job.logging ? protocol.on_cancel(op.number, op.any_source) : Plan::free;
  bool withdrawn = plan == Plan::cancelled;
  if (plan == Plan::after_past) await_past(peer(op.source));
  if (plan == Plan::free || plan == Plan::after_past) {
    if (sent_before_ && !op.any_source) await_acknowledged(op.source);
    progress();
    // A forced receive has a match on record, though its message may not have come again yet.
    withdrawn = !op.matched && !op.forced;
    if (job.logging) protocol.on_cancel_result(op.number, withdrawn);
    persist_events();
  }
  if (withdrawn) {
    contexts.find(op.context)->matcher.withdraw(op);
    op.cancelled = op.complete = true;
  }
  after_call();
  return withdrawn;
}

// What a predecessor has acknowledged it had matched before this call, whose outcome it did not record: it matches again first.
void EngineImpl::await_acknowledged(Rank source) {
  auto matched = [this, source] { return !sent_before_ || !sent_before_->holds_acknowledgement(source); };
  if (!matched()) wait_on(source, matched);
}

// All that a peer had logged for us when this incarnation began. One that came here together with us has lost its log too.
void EngineImpl::await_past(Peer& from) {
  if (is_self(from.rank) || from.local) return;
  auto taken = [&from] { return from.in.past_taken; };
  if (!taken()) from.in.feeding = true;
  if (!taken()) wait_on(from.rank, taken);
}

Message* EngineImpl::look(Context context, Rank source, MessageTag tag) {
  return static_cast<Message*>(contexts.find(context)->matcher.peek(source, tag));
}

// ---- what arrives

void EngineImpl::on_frame(Peer& from, const FrameHeader& header, Bytes payload) {
  std::uint8_t flags = from.local ? wire::flags_on_shared_memory : wire::flags_on_network;
  if (!wire::plausible(header, job.rank_count, UINT64_MAX, flags) || header.source != from.rank.value ||
      (header.kind == FrameKind::events && (from.local || !node_level_)) ||
      (header.kind == FrameKind::dependencies && (!optimist_ || !(header.flags & wire::flag_logged))) ||
      (wire::payload_on_rail(header) > payload_bytes_max(from, header.kind) && !is_self(from.rank))) {
    abort(1, "a damaged frame arrived; the shared memory of a peer was overwritten");
  }
  switch (header.kind) {
    case FrameKind::eager:
    case FrameKind::rendezvous:
    case FrameKind::matched:
    case FrameKind::dependencies:
      if (header.flags & wire::flag_logged) return on_logged_frame(from, header, payload);
      if (header.kind == FrameKind::matched) return on_matched(from, name_of(header));
      return accept(from, header, payload, nullptr, nullptr);
    case FrameKind::clear_to_send:
      return start_transfer(from, header);
    case FrameKind::data:
      return on_data(from, header, payload);
    case FrameKind::credit:
      from.out.released = header.offset;
      from.out.log_done = header.position;
      from.out.credit_known = true;
      from.out.taken_before = std::max(from.out.taken_before, header.sequence);
      from.out.level |= (header.flags & wire::flag_level) != 0;
      if (header.flags & wire::flag_asks) from.in.asks_how_far = true, calls.look_at = 0;
      return;
    case FrameKind::events:
      return on_events(from, header, payload);
  }
}

void EngineImpl::on_logged_frame(Peer& from, const FrameHeader& header, Bytes payload) {
#ifndef HOLDFAST_MUTATE_DROP_TOO_LITTLE
  if (header.position < from.in.cursor) {  // taken from the log already
    if (header.kind == FrameKind::eager) release_credit(from, header.length);
    return;
  }
#endif
  if (header.kind == FrameKind::dependencies && !take_dependencies(from, Incarnation{header.incarnation}, payload)) return;
  from.in.cursor = header.position + segment::padded(sizeof(FrameHeader) + wire::payload_in_log(header));
  if (header.kind == FrameKind::dependencies) return;
  if (header.kind == FrameKind::matched) return on_matched(from, name_of(header));
  if (header.kind == FrameKind::eager) return accept(from, header, payload, nullptr, nullptr);
  point("rendezvous.seen");
  segment::Record record;
  PeerLog* log = header.flags & wire::flag_exposed ? nullptr : sender_log(from, header, record);
  accept(from, header, payload, log ? &record : nullptr, log);
}

// An envelope, with its payload in `pieces`, or in a log, or still at the sender.
void EngineImpl::accept(Peer& from, const FrameHeader& header, Bytes payload, const segment::Record* record,
                        PeerLog* log) {
  bool in_place = header.kind == FrameKind::eager && !record;
  ContextState* state = contexts.find(Context{header.context});
  auto& arrivals = state ? state->peer(from.rank) : closed_peer_;
  Sequence number{header.sequence};
  // Known by its envelope, though perhaps not delivered yet: one before it may be missing still.
  if (auto lost = from.in.unlogged.find(name_of(header)); lost != from.in.unlogged.end()) {
    return renew(from, *lost->second, header, payload, record, log);
  }
  auto verdict = core::match::Arrivals::Verdict::duplicate;
  if (state) {
    verdict = header.flags & wire::flag_numbered ? arrivals.arrivals.by_number(number) : arrivals.arrivals.in_order(number);
  }
  const Bytes* at_hand = in_place && !payload_follows_ ? &payload : nullptr;
  if (verdict == core::match::Arrivals::Verdict::duplicate) {
    if (in_place && !taking_from_log_) release_credit(from, header.length);
    return on_duplicate(from, arrivals, header, at_hand);
  }
  bool numbered = header.flags & wire::flag_numbered;
  RecvOperation* receive = nullptr;
  if (verdict == core::match::Arrivals::Verdict::take) {
    receive = numbered ? state->take_posted(from.rank, number) : state->take_posted(from.rank, MessageTag{header.tag});
  }
  const std::uint64_t taken = from.in.taken++;
  if (keeps_sums(from)) on_taken_from(from, arrivals, header, at_hand);
  if (receive && at_hand) {
    see(from, taken);
    receive_now(*receive, from, header, payload);
  } else {
    Message* m = envelope(from, header, payload, record, log);
    m->taken = taken;
    if (record) ++counters().messages_replayed;
    if (receive) {
      complete(*receive, *m);
    } else {
      own(from, *m);
      if (verdict == core::match::Arrivals::Verdict::early) return keep_early(arrivals, number, *m);
      if (numbered) arrivals.numbered_arrived.push_back(*m);
      else state->matcher.queue(*m);
    }
  }
  if (!numbered) deliver_early(*state, arrivals);
}

void EngineImpl::keep_early(ContextPeer& arrivals, Sequence number, Message& m) {
  if (arrivals.early.emplace(number, &m).second) return;
  const FrameHeader header = m.header;  // sent again without a log, and here already
  Peer& from = peer(m.source);
  drop(m);
  if (header.kind == FrameKind::rendezvous && !(header.flags & wire::flag_logged)) decline(from, header);
}

// What waited for the message before it.
void EngineImpl::deliver_early(ContextState& state, ContextPeer& arrivals) {
  while (!arrivals.early.empty() && arrivals.early.begin()->first.value == arrivals.arrivals.below()) {
    Message* next = arrivals.early.begin()->second;
    arrivals.early.erase(arrivals.early.begin());
    arrivals.arrivals.in_order(Sequence{next->header.sequence});
    if (core::match::Posted* receive = state.matcher.arrive(*next)) complete(static_cast<RecvOperation&>(*receive), *next);
  }
}

// A message that was in no log when its sender died comes again from the next incarnation. It keeps its place and its match.
void EngineImpl::renew(Peer& from, Message& m, const FrameHeader& header, Bytes payload, const segment::Record* record,
                       PeerLog* log) {
  on_renewed(from, m.header, header, header.kind == FrameKind::eager && !record && !payload_follows_ ? &payload : nullptr);
  forget_unlogged(from, m);
  from.in.receiving.erase(name_of(header));
  give_up_fetch(m);
  if (m.needs_log) --from.in.log_references;
  m.header = header;
  m.arrived = 0;
  classify(from, m, payload, record, log);
  if (m.receive) take_payload(*m.receive, m);
  else own(from, m);
}

Message* EngineImpl::envelope(Peer& from, const FrameHeader& header, Bytes payload, const segment::Record* record, PeerLog* log) {
  Message* m = pool_.get();
  m->header = header;
  m->source = from.rank;
  m->tag = MessageTag{header.tag};
  m->self_synchronous = is_self(from.rank) ? self_synchronous_ : nullptr;
  classify(from, *m, payload, record, log);
  return m;
}

// Where the payload of a message is.
void EngineImpl::classify(Peer& from, Message& m, Bytes payload, const segment::Record* record, PeerLog* log) {
  bool logged = m.header.flags & wire::flag_logged;
  if (record) {
    m.payload = Message::Payload::local_log;
    m.record = *record;
    m.log = log;
  } else if (m.header.kind == FrameKind::eager && !payload_follows_) {
    m.payload = Message::Payload::held;
    m.from_log = taking_from_log_;
    m.borrowed = payload;
  } else if (m.header.flags & wire::flag_exposed && payload.size() == sizeof(m.exposed)) {
    m.payload = Message::Payload::exposed;
    std::memcpy(&m.exposed, payload.data(), sizeof(m.exposed));
  } else {
    m.payload = taking_from_log_ ? Message::Payload::remote_log : Message::Payload::at_sender;
  }
  const bool in_log = logged && !(m.header.flags & wire::flag_ahead);
  if (job.keeps_payloads && (m.payload == Message::Payload::exposed || (m.payload == Message::Payload::at_sender && !in_log))) {
    from.in.unlogged.emplace(name_of(m.header), &m);
  }
  m.needs_log = m.payload != Message::Payload::held && logged;
  if (m.needs_log) ++from.in.log_references;
}

// The message outlives the frame it came in: its payload is copied out of the rail.
void EngineImpl::own(Peer& from, Message& m) {
  if (m.payload != Message::Payload::held || m.owned) return;
  m.bytes.assign(m.borrowed.begin(), m.borrowed.end());
  m.borrowed = {};
  m.owned = true;
  from.in.held_bytes += m.bytes.size();
  if (m.from_log) from.in.held_log_bytes += m.bytes.size();
}

void EngineImpl::unhold(const Message& m) {
  Incoming& in = peer(m.source).in;
  in.held_bytes -= m.bytes.size();
  if (m.from_log) in.held_log_bytes -= m.bytes.size();
}

// ---- matched

void EngineImpl::complete(RecvOperation& op, Message& m) {
  see(peer(m.source), m.taken);
  on_match(op, m.source, m.header);
  on_taken(m.source, m.header, m.self_synchronous);
  take_payload(op, m);
}

// The usual case: the receive was there first, and the payload is in the frame.
void EngineImpl::receive_now(RecvOperation& op, Peer& from, const FrameHeader& header, Bytes payload) {
  const Incarnation sender = from.incarnation;
  on_match(op, from.rank, header);
  on_taken(from.rank, header, is_self(from.rank) ? self_synchronous_ : nullptr);
  op.truncated = payload.size() > op.sink.capacity;
  put(op.sink, 0, payload);
  // Its death may have been heard meanwhile, while room was made for the event: the channel's credit ended with it.
  if (!taking_from_log_ && from.incarnation == sender) release_credit(from, payload.size());
  count_received(std::min(payload.size(), op.sink.capacity));
  op.complete = true;
}

void EngineImpl::on_match(RecvOperation& op, Rank source, const FrameHeader& header) {
  op.matched = true;
  op.source = source;
  op.tag = MessageTag{header.tag};
  op.bytes = header.length;
  if (!job.logging || op.numbered) return;
  protocol.on_match(op.number, op.any_source, op.forced, source);
  point("match.made");
  if (!in_rails_) persist_events();  // else once for all that one look at the rails has brought
}

// The message has been matched, by a receive or a matched probe: a synchronous sender may know.
void EngineImpl::on_taken(Rank source, const FrameHeader& header, SendOperation* self_synchronous) {
  if (!(header.flags & wire::flag_synchronous)) return;
  if (self_synchronous) self_synchronous->complete = true;
  else if (!is_self(source)) acknowledge(peer(source), header);
}

void EngineImpl::take_payload(RecvOperation& op, Message& m) {
  op.truncated = m.header.length > op.sink.capacity;
  m.receive = &op;
  m.wanted = std::min<std::uint64_t>(m.header.length, op.sink.capacity);
  switch (m.payload) {
    case Message::Payload::held:
      if (m.owned) {
        put(op.sink, 0, m.bytes);
        unhold(m);
      } else {
        put(op.sink, 0, m.borrowed);
      }
      if (!m.from_log) release_credit(peer(m.source), m.header.length);
      return finish(op, m);
    case Message::Payload::local_log:
      point("rendezvous.matched");
      copy_from_log(op, m);
      return finish(op, m);
    case Message::Payload::exposed:
      return read_exposed(m);
    case Message::Payload::remote_log:
    case Message::Payload::at_sender:
      return request_payload(m);
  }
}

void EngineImpl::copy_from_log(RecvOperation& op, Message& m) {
  std::vector<Bytes> pieces;
  if (!m.log->reader(job.self.value).pieces(m.record, m.arrived, m.wanted - m.arrived, pieces)) {
    abort(1, "a damaged record in the log of a peer");
  }
  for (Bytes piece : pieces) {
    put(op.sink, m.arrived, piece);
    m.arrived += piece.size();
  }
}

void EngineImpl::request_payload(Message& m) {
  Peer& from = peer(m.source);
  if (std::exchange(payload_follows_, false)) {
    from.in.receiving[name_of(m.header)] = &m;
    return;
  }
  // Its sender's incarnation is gone, or cannot be asked now: its log can.
  bool ended = m.header.incarnation != from.incarnation.value || !from.in.open || from.in.silent;
  if (m.payload == Message::Payload::remote_log || (ended && (m.header.flags & wire::flag_logged))) {
    return m.wanted > 0 ? fetch(m) : finish(*m.receive, m);
  }
  point("rendezvous.matched");
  if (take_following(from, m)) return;
  if (m.wanted > 0) from.in.receiving[name_of(m.header)] = &m;
  ask_for(from, m.header, 0, m.wanted);
  point("rendezvous.requested");
  if (m.wanted == 0) finish(*m.receive, m);
}

void EngineImpl::decline(Peer& from, const FrameHeader& header) { ask_for(from, header, 0, 0); }

void EngineImpl::ask_for(Peer& from, const FrameHeader& header, std::uint64_t begin, std::uint64_t end) {
  FrameHeader ask;
  ask.kind = FrameKind::clear_to_send;
  ask.incarnation = incarnation.value;
  ask.source = job.self.value;
  ask.context = header.context;
  ask.sequence = header.sequence;
  ask.offset = begin;
  ask.length = end - begin;
  ask.position = header.position;
  ask.tag = static_cast<std::int32_t>(header.offset);  // the chunk of the record
  send_control(from, ask);
}

void EngineImpl::on_data(Peer& from, const FrameHeader& header, Bytes payload) {
  auto it = from.in.receiving.find(name_of(header));
  if (it == from.in.receiving.end()) {  // or completed from the log meanwhile
#ifndef HOLDFAST_MUTATE_FORGET_MISSED
    if (from.in.following.name == name_of(header)) from.in.following.missed = true;
#endif
    return on_data_again(from, name_of(header), header.offset, payload);
  }
  Message& m = *it->second;
  if (header.offset != m.arrived || header.length > m.wanted - m.arrived) return;  // a piece of a transfer given up
  put(m.receive->sink, m.arrived, payload);
  m.arrived += payload.size();
  on_piece(from, it);
}

void EngineImpl::on_piece(Peer& from, std::map<MessageName, Message*>::iterator receiving) {
  Message& m = *receiving->second;
  point("rendezvous.arriving");
  if (m.arrived < m.wanted) return;
  point("rendezvous.received");
  from.in.receiving.erase(receiving);
  on_payload_of(m);
  finish(*m.receive, m);
}

void EngineImpl::finish(RecvOperation& op, Message& m) {
  if (m.lost_with_sender()) forget_unlogged(peer(m.source), m);
  count_received(m.wanted);
  if (m.needs_log) --peer(m.source).in.log_references;
  pool_.put(&m);
  op.complete = true;
}

// Forgets a message that nobody will receive: its context is closed.
void EngineImpl::drop(Message& m) {
  if (m.lost_with_sender()) forget_unlogged(peer(m.source), m);
  if (m.payload == Message::Payload::held && m.owned) {
    unhold(m);
    if (!m.from_log) release_credit(peer(m.source), m.header.length);
  }
  if (m.needs_log) --peer(m.source).in.log_references;
  pool_.put(&m);
}

void EngineImpl::open_context(Context context) {
  if (ContextState* state = contexts.find(context)) ++state->users;
}

void EngineImpl::close_context(Context context) {
  ContextState* state = contexts.find(context);
  if (!state || --state->users > 0) return;
  while (core::match::Arrived* m = state->matcher.unexpected().first()) {
    state->matcher.take(*m);
    drop(static_cast<Message&>(*m));
  }
  for (const auto& peer : peers) {
    ContextPeer& p = state->peer(peer->rank);
    peer->closed_sent += p.next_send.value;
    peer->closed_taken += p.arrivals.below();
    for (auto& [number, m] : p.early) drop(*m);
    while (Message* m = p.numbered_arrived.first()) {
      p.numbered_arrived.remove(*m);
      drop(*m);
    }
  }
  contexts.close(context);
}

}  // namespace hf::engine
