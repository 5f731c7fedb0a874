// Channels: the way to and from one incarnation of a peer over a rail. A channel's opening names a position in the
// sender's log; what stands before it comes from the log (design section 6.3).
#include "engine/engine_impl.hpp"

#include <unistd.h>

#include "base/check.hpp"

namespace hf::engine {
namespace {

using segment::taken_mask;

constexpr std::int64_t credit_patience_ns = 5'000'000;

}  // namespace

std::uint64_t EngineImpl::data_piece_bytes(const Peer& to) const { return to.local ? rail::shm::ring_payload_max : tcp_piece_bytes; }

void EngineImpl::fill(Rank to, const Payload& payload, std::uint64_t offset, MutableBytes out) {
  if (payload.exposed) return void(std::memcpy(out.data(), payload.exposed, out.size()));
  if (payload.source) return fill_from(*payload.source, payload.begin + offset, out);
  HF_CHECK(own_reader(to).copy(*payload.record, payload.begin + offset, out));
}

bool EngineImpl::offer(Peer& to, const FrameHeader& header, const Payload& payload) {
  if (!(to.local ? offer_ring(to, header, payload) : offer_rail(to, header, payload))) return false;
  if (header.kind == FrameKind::eager) to.out.eager_bytes += header.length;
  count_sent(payload.exposed ? header.length : wire::payload_on_rail(header));
  return true;
}

bool EngineImpl::offer_ring(Peer& to, const FrameHeader& header, const Payload& payload) {
  const segment::Inbound& progress = to.newest_log->control().inbound(job.self);
  auto fill_frame = [&](MutableBytes out) { fill(to.rank, payload, 0, out); };
  if (!to.out.ring.send(header, progress, incarnation, fill_frame)) return false;
  wake(to);
  return true;
}

bool EngineImpl::open_channel(Peer& to) {
  if (!to.local) look_up(to);
  if (!to.running()) return false;
  if (!to.local) {
    dial(to);
    return false;  // open once the rail says so
  }
  PeerLog* theirs = newest_log(to);
  if (!theirs) return false;
  to.out.ring.open(control, to.rank, to.incarnation, to.out.sent);
  to.out.open = true;
  to.out.credit_known = false;
  wake(to);
  return true;
}

// Whether so many eager bytes may be sent now: what the receiver holds for us at most, less what is on the way or held.
// What a local receiver has released is looked up only when what was known of it does not suffice: it lies in a cache
// line of its own.
bool EngineImpl::has_credit(Peer& to, std::uint64_t bytes) const {
  auto suffices = [&] { return to.out.eager_bytes - to.out.released + bytes <= credit_bytes_; };
  if (!to.local) return to.out.credit_known && suffices();
  if (to.out.credit_known && suffices()) return true;
  std::uint64_t word = segment::load_acquire(to.newest_log->control().inbound(job.self).released);
  // Not attached yet: it may still hold what a predecessor of ours sent.
  to.out.credit_known = segment::inbound_is_of(word, incarnation);
  if (!to.out.credit_known) return incarnation.value == 0 && suffices();
  // The word holds the low bits of a count that is at most what was sent.
  to.out.released = to.out.eager_bytes - ((to.out.eager_bytes - word) & taken_mask);
  return suffices();
}

// Over a network a record without credit stays in the log until the receiver has released some: that is told in one way, where an
// announcement costs three for each message. Not for long: the receiver may want what comes behind all that it holds.
bool EngineImpl::awaits_credit(Peer& to) const {
  Outgoing& out = to.out;
  if (to.local || !out.credit_known) return false;
  const std::int64_t now = now_ns();
  if (out.short_of != out.released) {
    out.short_of = out.released;
    out.short_since = now;
  }
  return now - out.short_since < credit_patience_ns;
}

void EngineImpl::release_credit(Peer& from, std::uint64_t bytes) {
  if (is_self(from.rank) || bytes == 0) return;
  from.in.released += bytes;
  if (!from.in.open) return;
  if (from.local) publish_credit(from);
  else if (from.in.released - from.in.released_told > credit_bytes_ / 4) tell_credit(from);
}

void EngineImpl::publish_credit(Peer& from) {
  segment::store_release(control.inbound(from.rank).released, segment::inbound_word(from.incarnation, from.in.released));
}

bool EngineImpl::attach(Peer& from) {
  // The ring of a peer that has finished before we looked is still there.
  if (!from.running() && from.state != wire::RankState::finished) return false;
  PeerLog* theirs = newest_log(from);
  if (!theirs || !theirs->started()) return false;
  if (!from.in.ring.attach(theirs->control(), job.self, incarnation, from.in.opening)) return false;
  from.in.open = true;
  segment::store_release(control.inbound(from.rank).taken_before, messages_taken(from));
  publish_credit(from);
  from.in.ring.publish(control.inbound(from.rank), from.incarnation, 0);
  if (from.in.fed != from.incarnation || from.in.cursor < from.in.opening) from.in.feeding = true;
  return true;
}

void EngineImpl::ring_doorbell(Peer& to) {
  if (!to.doorbell) to.doorbell = agent->doorbell_of(to.rank);
  std::uint64_t one = 1;
  if (to.doorbell) [[maybe_unused]] ssize_t n = ::write(to.doorbell.get(), &one, sizeof(one));
}

// Who reads in place is on its way to what follows.
bool EngineImpl::has_awaited(const Peer& from) const { return awaited_ && *awaited_ && !from.in.reading; }

void EngineImpl::poll_ring(Peer& from) {
  if (!from.in.ring.ready()) return;
  rail::shm::RingFrame frame;
  frame.header.source = from.rank.value;
  frame.header.incarnation = from.incarnation.value;
  constexpr std::uint64_t publish_every = segment::ring_lines / 4;
  segment::Inbound& taken = control.inbound(from.rank);
  bool took = false;
  while (from.in.open && !from.in.feeding && from.in.ring.peek(frame)) {
    const bool enough = took && has_awaited(from);
    in_frame_ = true;
    const bool at_once = take_at_once(from, frame);
    if (!at_once && !enough) on_frame(from, frame.header, frame.payload);
    in_frame_ = false;
    if (!at_once && enough) break;  // stays until somebody waits
    if (!from.in.open) break;  // the peer's death was seen meanwhile
    from.in.ring.release();
    if (took) from.in.ring.read_ahead();
    took = true;
    from.in.ring.publish(taken, from.incarnation, publish_every);
    // What further receives have been posted for comes soon, where it has not come already.
    if (has_awaited(from) && !(at_once && takes_more_)) break;
  }
  if (!from.in.gathered.empty()) read_gathered(from);
  if (took && from.in.open) {
    from.in.ring.publish(taken, from.incarnation);
    if (from.newest_log) wake(from);  // it may wait for room
  }
}

}  // namespace hf::engine
