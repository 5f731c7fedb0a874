// Process: what a rank sends again after the loss of its node, compared with what was taken of it before. As
// src/engine/sent_again.cpp; a large message stands for one that was announced and is not larger than the eager limit.
#include <span>

#include "sim/job/mutation.hpp"
#include "sim/job/node.hpp"
#include "sim/job/process.hpp"
#include "sim/job/world.hpp"
#include "wire/message_sum.hpp"

namespace hf::sim::job {

using core::vprotocol::TakenSums;

namespace {

constexpr std::uint64_t large_bytes = 1 << 20;

Bytes bytes_of(const std::uint64_t& value) { return std::as_bytes(std::span(&value, 1)); }

wire::MessageSum sum_of(const Frame& message, bool has_payload) {
  wire::FrameHeader header;
  header.tag = message.tag.value;
  header.sequence = message.sequence.value;
  header.length = message.large() ? large_bytes : sizeof(message.payload.value);
  const int flags = (message.synchronous ? wire::flag_synchronous : 0) | (message.numbered ? wire::flag_numbered : 0);
  header.flags = static_cast<std::uint8_t>(flags);
  return has_payload ? wire::message_sum(header, bytes_of(message.payload.value)) : wire::message_sum(header);
}

}  // namespace

bool Process::keeps_sums(const Peer& of) const { return world_.options().keeps_events() && !of.local; }

void Process::on_arrived(const Peer& from, const Frame& frame) {
  if (world_.options().keeps_events()) world_.checker().on_arrived(life_, from.rank, frame);
}

void Process::on_taken_from(Peer& from, ContextPeer& arrivals, const Frame& frame) {
  if (!keeps_sums(from)) return;
  if (HF_MUTATED(SUMS_NOT_REBUILT) && replaying()) return;
  if (!arrivals.sums) arrivals.sums = std::make_unique<TakenSums>();
  // One that is too early may come twice before its turn.
  if (!arrivals.sums->on_taken(frame.sequence, sum_of(frame, !frame.large()))) on_again_from(from, arrivals, frame, !frame.large());
}

// The payload of a message whose envelope was taken before it.
void Process::on_payload_of(Peer& from, const Message& m, const Payload& payload) {
  if (!m.frame.large() || !keeps_sums(from)) return;
  auto& sums = context(m.frame.context).peers[from.rank].sums;
  if (!sums) return;
  world_.checker().on_payload(life_, from.rank, m.frame, payload.value);
  sums->on_payload(m.frame.sequence, wire::payload_sum(m.frame.sequence.value, bytes_of(payload.value)));
}

void Process::on_duplicate(Peer& from, ContextPeer& arrivals, const Frame& frame, bool from_log) {
  if (!frame.large() || !ask_again(from, arrivals, frame, from_log)) on_again_from(from, arrivals, frame, !frame.large());
}

// It was announced, or stands in a log that gives no large payload unasked.
bool Process::ask_again(Peer& from, const ContextPeer& arrivals, const Frame& frame, bool from_log) {
  if (!arrivals.sums || !arrivals.sums->expects()) return false;
  if (!from_log && (!from.open || frame.incarnation != from.known.incarnation)) return false;
  if (!from.again.try_emplace(MessageName(frame), frame).second) return false;
  if (!from_log) return ask_for(from, frame), true;
  fetches_again_.emplace(++questions_, std::pair(from.rank, MessageName(frame)));
  world_.fetch(*this, node_of(from), from.rank, frame, questions_);
  return true;
}

void Process::on_data_again(Peer& from, MessageName name, const Payload& payload) {
  auto at = from.again.find(name);
  if (at == from.again.end()) return;
  Frame frame = at->second;
  from.again.erase(at);
  frame.payload = payload;
  on_again_from(from, context(frame.context).peers[from.rank], frame, true);
}

// What was coming is lost with the connection.
void Process::forget_again(Peer& from) {
  from.again.clear();
  std::erase_if(fetches_again_, [&](const auto& fetch) { return fetch.second.first == from.rank; });
}

void Process::on_again_from(Peer& from, ContextPeer& arrivals, const Frame& frame, bool has_payload) {
  if (frame.large() && keeps_sums(from)) world_.checker().on_large_again(life_, from.rank, frame, has_payload);
  if (!arrivals.sums || !arrivals.sums->expects()) return;
  const auto other = arrivals.sums->on_again(frame.sequence, sum_of(frame, has_payload));
  if (other) world_.on_sent_otherwise(*this, from.rank, frame.context, *other);
}

// A message of which the envelope was here comes anew.
void Process::on_renewed(Peer& from, const Frame& before, const Frame& frame) {
  if (before.tag != frame.tag || before.kind != frame.kind) {
    world_.checker().on_large_again(life_, from.rank, frame, false);
    return world_.on_sent_otherwise(*this, from.rank, frame.context, {frame.sequence, frame.sequence, true});
  }
  if (keeps_sums(from)) on_again_from(from, context(frame.context).peers[from.rank], frame, !frame.large());
}

// It is as if it had never come.
void Process::take_back(Peer& from, ContextPeer& arrivals, const Frame& frame) {
  if (!keeps_sums(from) || !arrivals.sums) return;
  world_.checker().on_taken_back(life_, from.rank, frame);
  if (!HF_MUTATED(TAKEN_BACK_STAYS)) arrivals.sums->on_taken_back(frame.sequence, sum_of(frame, !frame.large()));
}

// Its logs begin anew elsewhere: it sends again all that it has sent.
void Process::expect_again(const Peer& from) {
  if (from.local) return;
  for (auto& [id, state] : contexts_) {
    if (auto& sums = state.peers[from.rank].sums) sums->expect_again();
  }
}

}  // namespace hf::sim::job
