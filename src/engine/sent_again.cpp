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
void EngineImpl::on_payload_of(const Message& m) {
  const Sink& sink = m.receive->sink;
  const bool whole = sink.data && m.wanted == m.header.length && m.header.length <= eager_bytes_;
  ContextState* state = whole && keeps_sums(peer(m.source)) ? contexts.find(Context{m.header.context}) : nullptr;
  if (!state || !state->peer(m.source).sums) return;
  const Bytes payload(sink.data, m.wanted);
  state->peer(m.source).sums->on_payload(Sequence{m.header.sequence}, wire::payload_sum(m.header.sequence, payload));
}

void EngineImpl::on_duplicate(Peer& from, ContextPeer& arrivals, const FrameHeader& header, const Bytes* payload) {
  if (!payload && ask_again(from, arrivals, header)) return;
  on_again_from(from, arrivals, header, payload);
  // Its sender, which sends it again without a log, waits to be asked for the payload: nothing of it is wanted.
  if (header.kind == FrameKind::rendezvous && !(header.flags & wire::flag_logged)) decline(from, header);
}

// It was announced, since its sender does not know yet what it may send, or stands in a log that gives no large payload unasked.
bool EngineImpl::ask_again(Peer& from, const ContextPeer& arrivals, const FrameHeader& header) {
  Incoming& in = from.in;
  const bool wanted = arrivals.sums && arrivals.sums->expects() && header.length > 0 && header.length <= eager_bytes_ &&
                      in.again_bytes + header.length <= credit_bytes_;
  if (!wanted || (!taking_from_log_ && (!in.open || header.incarnation != from.incarnation.value))) return false;
  if (!in.again.try_emplace(name_of(header), PayloadAgain{header, {}}).second) return false;
  in.again_bytes += header.length;
  if (!taking_from_log_) return ask_for(from, header, 0, header.length), true;
  look_up(from);
  const RemoteStream stream = stream_of(from, Incarnation{header.incarnation});
  const auto chunk = static_cast<segment::ChunkId>(header.offset);
  fetches_again_[remote_log_->fetch(stream, header.position, chunk, 0, header.length)] = {&from, name_of(header)};
  return true;
}

// What is not there any more is not compared.
void EngineImpl::on_fetched_again(const RemoteAnswer& answer) {
  auto it = fetches_again_.find(answer.id);
  if (it == fetches_again_.end()) return;
  const auto [from, name] = it->second;
  const bool damaged = answer.absent || answer.damaged;
  if (damaged || answer.last) fetches_again_.erase(it);
  if (!damaged) return on_data_again(*from, name, answer.offset, answer.data);
  if (auto at = from->in.again.find(name); at != from->in.again.end()) {
    from->in.again_bytes -= at->second.header.length;
    from->in.again.erase(at);
  }
}

// What was coming is lost with the channel.
void EngineImpl::forget_again(Peer& from) {
  from.in.again.clear();
  from.in.again_bytes = 0;
  std::erase_if(fetches_again_, [&](const auto& fetch) {
    if (fetch.second.first != &from) return false;
    remote_log_->cancel(fetch.first);
    return true;
  });
}

void EngineImpl::on_data_again(Peer& from, MessageName name, std::uint64_t offset, Bytes payload) {
  auto at = from.in.again.find(name);
  if (at == from.in.again.end()) return;
  PayloadAgain& again = at->second;
  if (offset != again.bytes.size() || payload.size() > again.header.length - again.bytes.size()) return;
  again.bytes.insert(again.bytes.end(), payload.begin(), payload.end());
  if (again.bytes.size() < again.header.length) return;
  const PayloadAgain whole = std::move(again);
  from.in.again.erase(at);
  from.in.again_bytes -= whole.header.length;
  ContextState* state = contexts.find(name.first);
  const Bytes bytes = whole.bytes;
  if (state) on_again_from(from, state->peer(from.rank), whole.header, &bytes);
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
