// Large payloads inside a node, read by the receiver out of the sender's buffer: one copy, by the receiver. Under `none` the buffer
// stays until the receiver has said that it is done. Under `pessimist` the sender copies the payload into its log meanwhile and
// takes the buffer back; what was not read until then is read from the log. docs/large-messages.md.
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include "base/check.hpp"
#include "base/streaming_copy.hpp"
#include "engine/engine_impl.hpp"

namespace hf::engine {
namespace {

constexpr std::uint64_t ring_bytes_max = 128 << 10;
constexpr std::int64_t reader_patience_ns_per_byte = 1;

}  // namespace

// The sender says where its cookie is, when it joins.
void EngineImpl::publish_memory() {
  auto cookie = os::random_cookie();
  if (!cookie) return;
  cookie_ = *cookie;
  os::allow_memory_access();
  auto& header = control.header();
  header.cookie_address = reinterpret_cast<std::uint64_t>(&cookie_);
  header.cookie[0] = cookie_.value[0];
  header.cookie[1] = cookie_.value[1];
  segment::store_release(header.pid, static_cast<std::int32_t>(::getpid()));
}

// As send_logged, but announced first: the receiver reads while we log. If we die before the log has it, our next incarnation
// sends it again, and the receiver takes it then (renew).
void EngineImpl::send_exposed(Peer& to, SendOperation& op, FrameHeader header) {
  int stream = to.rank.value;
  segment::Record record = log_->begin(stream, header);
  FrameHeader announced = record.header;
  announced.check = 0;
  announced.flags |= wire::flag_exposed;
  announced.offset = record.chunk;
  op.exposure = exposures_.expose(control.header());
  HF_CHECK(optimist_ || protocol.gate().open());
  wire::Exposed exposed{reinterpret_cast<std::uint64_t>(op.source.data), op.exposure.ticket()};
  fence_streamed();
  bool offered = op.exposure && offer(to, announced, {.exposed = &exposed});
  if (offered) point("rendezvous.exposed");
  log_->fill_record(stream, header, [&op](std::uint64_t offset, MutableBytes out) {
    streaming_copy(out.data(), op.source.data + offset, out.size());
  });
  fence_streamed();
  point("send.logged");
  log_->publish(stream);
  point("send.published");
  count_logged(header.length);
  await_match(to, op);
  if (offered || offer_record(to, record, &op.source)) to.out.sent = log_->appended(stream);
  wake(to);  // also one that could not read, and sleeps until the log has it
  if (!offered) op.exposure.withdraw();
  else if (!op.keeps_buffer) withdraw(op);
}

void EngineImpl::withdraw(SendOperation& op) {
  Peer& to = peer(op.destination);
  if (to.running() && to.newest_log) await_reader(to, op);
  op.exposure.withdraw();
}

// A reader that has begun, or is on its way here through what was sent before, soon ends; from the log it would take several times as
// long. Bounded, for it may have lost its core.
void EngineImpl::await_reader(Peer& to, const SendOperation& op) {
  const std::uint64_t& reading = to.newest_log->control().inbound(job.self).reading;
  const std::int64_t until = now_ns() + static_cast<std::int64_t>(op.source.bytes) * reader_patience_ns_per_byte;
  for (;;) {
    std::uint64_t ticket = segment::load_acquire(reading);
    if (ticket == 0 || ticket > op.exposure.ticket() || now_ns() > until) return;
    help(to);
    if (!spins_) ::sched_yield();
  }
}

// ---- the receiver

bool EngineImpl::can_read(Peer& from) {
  Incoming& in = from.in;
  if (in.memory_refused || !from.newest_log) return false;
  if (in.memory.is_open()) return true;
  const auto& header = from.newest_log->control().header();
  std::int32_t pid = segment::load_acquire(header.pid);
  in.memory_refused = !in.memory.open(pid, header.cookie_address, {{header.cookie[0], header.cookie[1]}});
  return !in.memory_refused;
}

// The sender of the message is still the process whose memory that is.
bool EngineImpl::can_read(Peer& from, const Message& m) {
  return m.header.incarnation == from.incarnation.value && from.running() && can_read(from);
}

// The buffer is as it was sent.
bool EngineImpl::stands(const Peer& from, const Message& m) {
  const bool logged = m.header.flags & wire::flag_logged;  // else the sender leaves it alone until it is told
  return !logged || segment::is_exposed(from.newest_log->control().header(), m.exposed.ticket);
}

// Whether the next piece of the payload, of so many bytes at most, is in the sink.
bool EngineImpl::read_piece(Peer& from, Message& m, std::uint64_t bytes_max) {
  if (!can_read(from, m)) return false;
  const Sink& sink = m.receive->sink;
  const std::uint64_t n = std::min(bytes_max, m.wanted - m.arrived);
  if (!sink.data) packed_.resize(n);
  MutableBytes into = sink.data ? MutableBytes(sink.data + m.arrived, n) : MutableBytes(packed_.data(), n);
  if (!stands(from, m)) return false;
  if (!from.in.memory.read(m.exposed.address + m.arrived, into)) {
    // Unless the program has given the buffer back meanwhile, this memory cannot be read. It stays open: whether the sender lives is still asked.
    from.in.memory_refused = stands(from, m) && from.in.memory.alive();
    return false;
  }
  if (!stands(from, m) || !from.in.memory.alive()) return false;
  if (!sink.data) put(sink, m.arrived, into);
  m.arrived += n;
  return true;
}

// A message alone, whose sender waits for it, arrives sooner in pieces through the ring, both sides copying at the same time.
bool EngineImpl::prefers_ring(const Peer& from, const Message& m) const {
  const bool waits = !(m.header.flags & wire::flag_logged) && m.exposed.ticket == wire::ticket_waits;
  return waits && m.wanted <= ring_bytes_max && in_frame_ && !more_waits(from);
}

void EngineImpl::read_exposed(Message& m) {
  Peer& from = peer(m.source);
  const bool gathers = may_gather(from, m);
  if (!gathers && prefers_ring(from, m)) return read_elsewhere(m);
  point("rendezvous.matched");
  if (gathers) gather(from, m);
  else read_alone(from, m);
}

void EngineImpl::read_alone(Peer& from, Message& m) {
  tell_reading(from, m.exposed.ticket);
  const bool whole = read_whole(from, m);
  if (!in_frame_) tell_reading(from, 0);  // else what follows in the ring may be the next one
  if (whole) end_reading(from, m);
  else read_elsewhere(m);
}

void EngineImpl::end_reading(Peer& from, Message& m) {
  point("rendezvous.received");
  if (!(m.header.flags & wire::flag_logged)) decline(from, m.header);  // it may use its buffer again
  finish(*m.receive, m);
}

bool EngineImpl::read_whole(Peer& from, Message& m) {
  if (may_share_copy(from, m)) return copy_jointly(from, m);
  const bool stays = !(m.header.flags & wire::flag_logged) && m.receive->sink.data;  // the buffer, until the sender is told
  const std::uint64_t piece = stays ? m.wanted : piece_bytes;
  while (m.arrived < m.wanted) {
    if (!read_piece(from, m, piece)) return false;
    point("rendezvous.arriving");
  }
  return true;
}

void EngineImpl::tell_reading(Peer& from, std::uint64_t ticket) {
  segment::store_release(control.inbound(from.rank).reading, ticket);
  from.in.reading = ticket != 0;
}

// The buffer is not there any more: the log is, or a sender without one is asked.
void EngineImpl::read_elsewhere(Message& m) {
  Peer& from = peer(m.source);
  if (!(m.header.flags & wire::flag_logged)) {
    m.payload = Message::Payload::at_sender;
    m.arrived = 0;
    return request_payload(m);
  }
  bool published = is_published(from, m);  // asked first: it may be published at any moment
  PeerLog* log = sender_log(from, m.header, m.record);
  if (!log && published) {
    abort(1, fmt::format("the message log of rank {} cannot be mapped; raise the limit of open files", m.source.value));
  }
  if (!log) {  // it is still being logged, or its sender is dead and sends it again
    if (!std::exchange(m.awaits_log, true)) ++from.in.awaiting_log;
    return;
  }
  m.payload = Message::Payload::local_log;
  m.log = log;
  forget_unlogged(from, m);
  take_payload(*m.receive, m);
}

bool EngineImpl::is_published(Peer& from, const Message& m) {
  return m.header.incarnation == from.incarnation.value && from.running() && from.newest_log &&
         from.newest_log->reader(job.self.value).published() > m.header.position;
}

void EngineImpl::look_for_logged(Peer& from) {
  std::vector<Message*> waiting;
  for (auto& [name, m] : from.in.unlogged) {
    if (m->awaits_log) waiting.push_back(m);
  }
  for (Message* m : waiting) read_elsewhere(*m);
}

void EngineImpl::forget_unlogged(Peer& from, Message& m) {
  if (std::exchange(m.awaits_log, false)) --from.in.awaiting_log;
  from.in.unlogged.erase(name_of(m.header));
}

}  // namespace hf::engine
