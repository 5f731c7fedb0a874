// What a rank sends again after the loss of its node, compared with what was taken of it before (docs/divergence.md).
#include <fmt/format.h>

#include "engine/engine_impl.hpp"

namespace hf::engine {

using core::vprotocol::TakenSums;
namespace {

wire::MessageSum sum_of(const FrameHeader& header, const Bytes* payload) {
  return payload ? wire::message_sum(header, *payload) : wire::message_sum(header);
}

}  // namespace

// `payload`: all of it, if it is at hand.
void EngineImpl::on_taken_from(Peer& from, ContextPeer& arrivals, const FrameHeader& header, const Bytes* payload) {
  if (!arrivals.sums) arrivals.sums = std::make_unique<TakenSums>();
  // One that is too early may come twice before its turn.
  const bool is_new = arrivals.sums->on_taken(Sequence{header.sequence}, sum_of(header, payload));
  if (!is_new) on_again_from(from, arrivals, header, payload);
}

// The payload of a message whose envelope was taken before it.
void EngineImpl::on_payload_from(Peer& from, const FrameHeader& header, Bytes payload) {
  ContextState* state = keeps_sums(from) ? contexts.find(Context{header.context}) : nullptr;
  if (!state || !state->peer(from.rank).sums) return;
  state->peer(from.rank).sums->on_payload(Sequence{header.sequence}, wire::payload_sum(header.sequence, payload));
}

void EngineImpl::on_again_from(Peer& from, ContextPeer& arrivals, const FrameHeader& header, const Bytes* payload) {
  if (!arrivals.sums || !arrivals.sums->expects()) return;
  const auto other = arrivals.sums->on_again(Sequence{header.sequence}, sum_of(header, payload));
  if (!other) return;
  const char* what = other->envelope ? "tag or length" : "payload";
  const bool one = other->first == other->last;
  sent_otherwise(from, other->envelope,
                 one ? fmt::format("message {}, of tag {} and {} bytes, had another {}", header.sequence, header.tag, header.length, what)
                     : fmt::format("one of messages {} to {} had another {}", other->first.value, other->last.value, what));
}

// A message of which the envelope was here comes anew. Its sender may also have died alone, before its log had it.
void EngineImpl::on_renewed(Peer& from, const FrameHeader& before, const FrameHeader& header, const Bytes* payload) {
  if (before.tag != header.tag || before.length != header.length) {
    sent_otherwise(from, true,
                   fmt::format("message {}, of tag {} and {} bytes, had tag {} and {} bytes", header.sequence, header.tag, header.length,
                               before.tag, before.length));
  }
  ContextState* state = keeps_sums(from) ? contexts.find(Context{header.context}) : nullptr;
  if (!state || !state->peer(from.rank).sums) return;
  on_again_from(from, state->peer(from.rank), header, payload);
  if (payload) state->peer(from.rank).sums->on_payload(Sequence{header.sequence}, wire::payload_sum(header.sequence, *payload));
}

// It is as if it had never come.
void EngineImpl::take_back(Peer& from, ContextPeer& arrivals, const Message& m) {
  if (!keeps_sums(from) || !arrivals.sums) return;
  const Bytes held = m.bytes;
  arrivals.sums->on_taken_back(Sequence{m.header.sequence}, sum_of(m.header, m.payload == Message::Payload::held ? &held : nullptr));
}

// Its log is lost: it sends again all that it has sent.
void EngineImpl::expect_again(Peer& from) {
  contexts.each([&](Context, ContextState& state) {
    if (auto& sums = state.peer(from.rank).sums) sums->expect_again();
  });
}

// The program of that rank does not do again what it did. Tag and length decide who receives the message: then nothing can go on.
void EngineImpl::sent_otherwise(Peer& from, bool fatal, std::string_view text) {
  fatal |= divergence_is_fatal_;
  const wire::Diverged body{fatal, from.rank.value, calls.number};
  agent->tell(wire::BootstrapKind::diverged, body, text);
  if (fatal) abort(1, fmt::format("rank {} does not send what it sent before: {}", from.rank.value, text));
}

}  // namespace hf::engine
