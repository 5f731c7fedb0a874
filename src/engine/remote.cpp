// Peers on other nodes: their channels are TCP connections, their logs are served by their agents.
#include <fmt/format.h>

#include "base/check.hpp"
#include "engine/engine_impl.hpp"

namespace hf::engine {

using rail::tcp::Event;
namespace {

constexpr std::uint64_t lasting_bytes_min = 12 << 10;  // of a smaller payload, what the socket does not take at once is copied

}  // namespace

Result<> EngineImpl::open_rail() {
  const wire::Welcome& w = agent->welcome();
  rail::tcp::Options options;
  options.self = job.self;
  options.incarnation = incarnation;
  options.rank_count = job.rank_count;
  static_assert(sizeof(options.job_key) == sizeof(w.job_key));
  std::memcpy(options.job_key.data(), w.job_key, sizeof(w.job_key));
  options.payload_bytes_max = std::max(eager_bytes_, tcp_piece_bytes);
  options.address = w.address;
  auto opened = rail::tcp::TcpRail::open(options);
  if (!opened) return std::unexpected(opened.error());
  rail_ = std::move(*opened);
  wire::Listening body{options.address, rail_->port(), 0};
  agent->tell(wire::BootstrapKind::listening, body);
  open_remote_logs();
  return {};
}

// First contact: its addresses are asked for, once, and come by the board.
void EngineImpl::look_up(Peer& p) {
  if (std::exchange(p.looked_up, true)) return;
  --not_looked_up_;
  agent->tell(wire::BootstrapKind::look_up, wire::RankName{p.rank.value});
}

// Before sleeping: of those that are not known yet, whoever is awaited. When nothing comes, and it is not said of whom, all.
void EngineImpl::look_up_awaited() {
  if (!job.logging || not_looked_up_ == 0) return;
  bool named = false, any = false;
  auto await = [&](Rank source) {
    named = true;
    if (Peer& p = peer(source); !p.local) look_up(p);
  };
  contexts.each([&](Context, ContextState& state) {
    auto& posted = state.matcher.posted();
    for (core::match::Posted* op = posted.first(); op; op = posted.after(*op)) {
      if (op->any_source) any = true;
      else await(op->source);
    }
    for (Peer* p : remote_peers_) {
      if (!p->looked_up && state.peer(p->rank).numbered_posted.first()) await(p->rank);
    }
  });
  if ((any || !named) && is_quiet()) {
    for (Peer* p : remote_peers_) look_up(*p);
  }
}

void EngineImpl::dial(Peer& to) {
  if (to.address_and_port == 0 || rail_->is_open(to.rank)) return;
  rail::tcp::Peer address;
  address.rank = to.rank;
  address.incarnation = to.incarnation;
  address.address = static_cast<std::uint32_t>(to.address_and_port >> 16);
  address.port = static_cast<std::uint16_t>(to.address_and_port & 0xffff);
  rail_->connect(address, to.out.sent);
}

bool EngineImpl::offer_rail(Peer& to, const FrameHeader& header, const Payload& payload) {
  const std::uint64_t n = wire::payload_on_rail(header);
  if (n == 0) return rail_->send(to.rank, header, {}, {}, carried_now_);
  const bool at_hand = payload.source && payload.source->data;
  pieces_.clear();
  lasting_.clear();
  // What stays until the rail has sent it: the log, and without one a buffer whose send is not complete.
  if (payload.record && (!at_hand || n >= lasting_bytes_min)) {
    HF_CHECK(own_reader(to.rank).pieces(*payload.record, payload.begin, n, lasting_));
  }
  if (at_hand) {  // the processor has it in its cache
    pieces_.emplace_back(payload.source->data + payload.begin, n);
    if (!payload.record) lasting_ = pieces_;
  } else if (!payload.record) {
    packed_.resize(n);
    payload.source->pack(payload.source->self, payload.begin, packed_);
    pieces_.emplace_back(packed_);
  }
  return rail_->send(to.rank, header, pieces_.empty() ? lasting_ : pieces_, lasting_, carried_now_);
}

// As send_logged, but the log, in which nobody reads soon, is filled while the message is on its way. If we die before it is
// published, our next incarnation sends the message again, and the receiver takes it then (renew). docs/tcp.md. `open`: the gate is; else
// carry(to) has come before, and the message takes its events along.
void EngineImpl::send_ahead(Peer& to, SendOperation& op, const FrameHeader& header, bool open) {
  const int stream = to.rank.value;
  places_.clear();
  segment::Record record = log_->append(stream, header, [this](std::uint64_t, MutableBytes out) { places_.push_back(out); });
  LogAhead log(places_, op.source.data);
  const bool could = could_follow(to, header.kind, op.source), follows = could && to.out.unasked.may_follow();
  const std::uint8_t flags = wire::flag_ahead | (follows ? wire::flag_follows : 0);
  const bool offered = open ? offer_record(to, record, &op.source, flags) : offer_carrying(to, op, record, flags);
  if (offered && could) to.out.unasked.on_announced();
  carried_now_.clear();
  point(open ? wire::RankPoint("send.ahead") : wire::RankPoint("send.ahead.carrying"));
  if (offered && follows) send_following(to, header, record, op.source, log);
  log.copy(header.length);
  fence_streamed();
  point("send.logged");
  count_logged(header.length);
  if (!open && offered) publish_carrying(to);
  else if (must_wait(to, op, header.kind)) return;
  else log_->publish(stream);
  point("send.published");
  await_match(to, op);
  if (offered) to.out.sent = log_->appended(stream);
}

void EngineImpl::poll_rail() {
  Event event;
  while (rail_->poll(event)) {
    if (event.kind == Event::stranger) {
      note(event.reason);
      continue;
    }
    Peer& from = peer(event.peer);
    switch (event.kind) {
      case Event::opened: on_opened(from, event.opening); break;
      case Event::incoming: on_incoming(from, event); break;
      case Event::head:
        if (from.in.open) on_head(from, event.header);
        break;
      case Event::frame:
        if (from.in.open && event.placed) on_placed(from, event.header);
        else if (from.in.open) on_rail_frame(from, event.header, event.payload);
        break;
      case Event::closed: on_closed(from, event); break;
      case Event::stranger: break;
    }
  }
}

// While records are taken from the peer's log, those of its channel wait: the sender's credit bounds them.
void EngineImpl::on_rail_frame(Peer& from, const FrameHeader& header, Bytes payload) {
  if (from.in.fenced) return;
  if (header.flags & wire::flag_follows) [[unlikely]] return on_followed(from, header);
  from.in.silent = false;
  ++frames_arrived_;
  if (from.in.feeding && (header.flags & wire::flag_logged)) {
    from.in.waiting.push_back({header, {payload.begin(), payload.end()}});
    return;
  }
  on_frame(from, header, payload);
}

// A large payload has begun to come: where its place is known it goes there at once.
void EngineImpl::on_head(Peer& from, const FrameHeader& header) {
  ++frames_arrived_;
  if (from.in.feeding || from.in.fenced) return;  // it waits
  MutableBytes target;
  if (header.kind == FrameKind::data) target = place_data(from, header);
  if (header.kind == FrameKind::eager) target = place_eager(from, header);
  if (!target.empty()) rail_->place(from.rank, target);
}

MutableBytes EngineImpl::place_data(Peer& from, const FrameHeader& header) {
  auto it = from.in.receiving.find(name_of(header));
  if (it == from.in.receiving.end()) return {};
  Message& m = *it->second;
  if (!m.receive->sink.data || header.offset != m.arrived || header.length > m.wanted - m.arrived) return {};
  return {m.receive->sink.data + m.arrived, header.length};
}

// The envelope is taken now, as that of an announced message whose payload has been asked for: the receive is matched, and
// should the channel end before the payload is here, it is found as one of those is.
MutableBytes EngineImpl::place_eager(Peer& from, const FrameHeader& header) {
  if (header.length > eager_bytes_max(from) || ((header.flags & wire::flag_logged) && header.position < from.in.cursor)) return {};
  ContextState* state = contexts.find(Context{header.context});
  if (!state || from.in.unlogged.contains(name_of(header))) return {};
  Sequence number{header.sequence};
  RecvOperation* op = nullptr;
  if (header.flags & wire::flag_numbered) op = state->posted_for(from.rank, number);
  else if (number.value == state->peer(from.rank).arrivals.below()) op = state->posted_for(from.rank, MessageTag{header.tag});
  if (!op || !op->sink.data || op->sink.capacity < header.length) return {};
  MutableBytes target(op->sink.data, header.length);
  payload_follows_ = true;
  on_frame(from, header, {});
  HF_CHECK(!payload_follows_);
  return target;
}

void EngineImpl::on_placed(Peer& from, const FrameHeader& header) {
  from.in.silent = false;
  ++frames_arrived_;
  if (header.kind == FrameKind::eager) release_credit(from, header.length);
  auto it = from.in.receiving.find(name_of(header));
  if (it == from.in.receiving.end()) return;  // taken from the log meanwhile
  it->second->arrived += header.length;
  on_piece(from, it);
}

void EngineImpl::on_incoming(Peer& from, const Event& event) {
  look_up(from);
  if (optimist_ && event.incarnation > from.incarnation) {
    if (agent->board_epoch() != board_epoch_) check_board();
    if (event.incarnation > from.incarnation) return rail_->refuse(from.rank);  // a cut belongs to it, of which the board does not tell yet
  } else if (event.incarnation > from.incarnation) {
    on_incarnation(from, event.incarnation);  // the news came before the board's
    from.state = wire::RankState::running;
  }
  if (event.incarnation < from.incarnation) return rail_->refuse(from.rank);
  if (rail_->accept(from.rank, from.out.sent)) on_opened(from, event.opening);
}

void EngineImpl::on_opened(Peer& from, const wire::Opening& opening) {
  from.out.open = from.in.open = true;
  from.in.opening = opening.position;
  from.out.released = 0;
  from.out.eager_bytes = 0;
  // A peer may still hold what a predecessor of ours sent: it tells with its first credit frame.
  from.out.credit_known = incarnation.value == 0 && from.connections++ == 0;
  if (job.logging && (from.in.fed != from.incarnation || from.in.cursor < from.in.opening)) from.in.feeding = true;
  tell_credit(from, messages_taken(from));
  pump(from);
}

void EngineImpl::tell_credit(Peer& to, std::uint64_t taken_before, std::uint8_t flags) {
  FrameHeader h;
  h.kind = FrameKind::credit;
  h.flags = flags;
  h.incarnation = incarnation.value;
  h.source = job.self.value;
  h.sequence = taken_before;
  h.offset = to.in.released;
  h.position = to.in.log_done;
  to.in.released_told = to.in.released;
  send_control(to, h);
}

void EngineImpl::on_closed(Peer& from, const Event& event) {
  complete_taken(from);
  reset_channel_out(from);
  reset_incoming(from);
  bool kept = job.keeps_payloads && !from.unprotected && !self_unprotected_;
  const bool may_run = from.running() || from.state == wire::RankState::absent;  // absent: the answer to look_up is on its way
  if (!kept && event.established && may_run && !finalizing_) {
    from.lost_since = now_ns();
    from.lost_reason = event.reason;
  }
}

// What the rail had taken from a program's buffer is not sent again: either it is there, or the job ends (check_lost).
void EngineImpl::complete_taken(Peer& to) {
  while (!to.out.queue.empty() && to.out.queue.front().taken) {
    complete_unless_awaited(to, *to.out.queue.front().send);
    to.out.queue.pop_front();
  }
  while (!to.out.transfers.empty() && to.out.transfers.front().next == to.out.transfers.front().end) {
    finish_transfer(to, to.out.transfers.front());
    to.out.transfers.pop_front();
  }
}

// Without a sender log, or for an unprotected receiver, there is nothing that could be sent again: unless the peer has simply ended, the
// job cannot go on.
void EngineImpl::check_lost(Peer& p) {
  // A peer that ends is seen on the board within this, the loss of a node too.
  const std::int64_t grace_ns = node_level_ ? 5'000'000'000 : 1'000'000'000;
  if (p.state == wire::RankState::finished) p.lost_since = 0;
  else if (now_ns() - p.lost_since > grace_ns) {
    abort(1, fmt::format("the connection to rank {} was lost ({}); nothing is kept that could be sent again", p.rank.value,
                         p.lost_reason));
  }
}

}  // namespace hf::engine
