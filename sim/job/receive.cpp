// Process: from a frame or a record of a log to the program's receive, exactly once. As src/engine/receive.cpp.
#include "sim/job/mutation.hpp"
#include "sim/job/node.hpp"
#include "sim/job/process.hpp"
#include "sim/job/world.hpp"

namespace hf::sim::job {

using wire::FrameKind;
using Verdict = core::match::Arrivals::Verdict;

void Process::on_frame(Rank source, std::uint64_t connection, const Frame& frame) {
  Peer& from = peer(source);
  if (optimistic_ && (!from.early.empty() || !know(frame, from))) {
    world_.count_wait();
    halted_.insert(source);
    return void(from.early.push_back({connection, frame}));
  }
  on_known_frame(from, connection, frame);
}

void Process::on_known_frame(Peer& from, std::uint64_t connection, const Frame& frame) {
  if (!HF_MUTATED(ACCEPT_OLD_INCARNATION) && frame.incarnation < from.known.incarnation) return;
  if (frame.opening) return on_opening(from, connection, frame);
  if (!HF_MUTATED(ACCEPT_OLD_INCARNATION) && from.connection != connection) return;
  if (frame.logged()) {
    if (from.feeding) return void(from.waiting.push_back(frame));
    return on_logged_frame(from, frame, false);
  }
  if (frame.kind == FrameKind::clear_to_send) return on_clear_to_send(from, frame);
  auto at = from.receiving.find(MessageName(frame));
  if (at == from.receiving.end()) return on_data_again(from, MessageName(frame), frame.payload);  // or taken from the log meanwhile
  Message& message = *at->second;
  from.receiving.erase(at);
  finish(message, frame.payload);
}

void Process::on_logged_frame(Peer& from, const Frame& frame, bool from_log) {
  if (frame.position < from.cursor) return;  // taken already
  from.cursor = frame.position + 1;
  if (!HF_MUTATED(TAKE_FROM_ORPHANS) && optimistic_ && from.orphaned && frame.incarnation <= *from.orphaned) return;
  if (frame.dependencies) return take_dependencies(from, frame);
  if (frame.kind == FrameKind::matched) return on_matched(from, frame);
  accept(from, frame, from_log);
}

void Process::accept(Peer& from, const Frame& frame, bool from_log) {
  ContextState& state = context(frame.context);
  ContextPeer& arrivals = (HF_MUTATED(ONE_NUMBERING) ? context(Context(0)) : state).peers[from.rank];
  on_arrived(from, frame);
  if (auto lost = from.unlogged.find(MessageName(frame)); lost != from.unlogged.end() && !HF_MUTATED(FORGET_LOST_PAYLOAD)) {
    return renew(from, *lost->second, frame, from_log);
  }
  const Verdict verdict = frame.numbered ? arrivals.arrivals.by_number(frame.sequence) : arrivals.arrivals.in_order(frame.sequence);
  if (verdict == Verdict::duplicate) return on_duplicate(from, arrivals, frame, from_log);
  on_taken_from(from, arrivals, frame);
  if (dead_) return;
  Message& m = messages_.get();
  m.frame = frame;
  m.source = from.rank;
  m.tag = frame.tag;
  m.number = from.taken++;
  m.where = !frame.large() ? Message::Where::held : from_log ? Message::Where::in_log : Message::Where::at_sender;
  if (frame.large()) from.unfinished.emplace(MessageName(frame), &m);
  if (verdict == Verdict::early) {
    if (!arrivals.early.emplace(frame.sequence, &m).second) messages_.put(m);
    return;
  }
  if (frame.numbered) {
    auto posted = arrivals.numbered_posted.extract(frame.sequence);
    if (posted.empty()) return void(arrivals.numbered_arrived.emplace(frame.sequence, &m));
    return complete(*posted.mapped(), m);
  }
  if (core::match::Posted* receive = state.matcher.arrive(m)) complete(static_cast<Request&>(*receive), m);
  deliver_early(state, arrivals);
}

void Process::deliver_early(ContextState& state, ContextPeer& arrivals) {
  while (!arrivals.early.empty() && arrivals.early.begin()->first.value == arrivals.arrivals.below()) {
    Message& next = *arrivals.early.begin()->second;
    arrivals.early.erase(arrivals.early.begin());
    arrivals.arrivals.in_order(next.frame.sequence);
    if (core::match::Posted* receive = state.matcher.arrive(next)) complete(static_cast<Request&>(*receive), next);
  }
}

// A message that was lost with its sender's node comes again. It keeps its place and its match.
void Process::renew(Peer& from, Message& m, const Frame& frame, bool from_log) {
  on_renewed(from, m.frame, frame);
  if (dead_) return;
  from.unlogged.erase(MessageName(frame));
  const auto state = m.frame.payload.state;
  m.frame = frame;
  m.frame.payload.state = state;  // the message is what it was
  m.in_some_log = true;
  m.where = !frame.large() ? Message::Where::held : from_log ? Message::Where::in_log : Message::Where::at_sender;
  if (m.receive) take_payload(*m.receive, m);
}

void Process::complete(Request& receive, Message& m) {
  receive.matched = true;
  receive.source = m.source;
  receive.tag = m.tag;
  if (optimistic_) see(m);
  if (dead_) return;
  if (!receive.numbered) protocol_.on_match(receive.number, receive.any_source, receive.forced, m.source);
  if (point()) return;
  if (!handling_) persist_events();
  if (m.frame.synchronous) acknowledge(peer(m.source), m.frame);
  take_payload(receive, m);
}

void Process::take_payload(Request& receive, Message& m) {
  m.receive = &receive;
  Peer& from = peer(m.source);
  if (m.where == Message::Where::held) return finish(m, m.frame.payload);
  if (!m.in_some_log) return;  // it comes again
  const bool ended = m.frame.incarnation != from.known.incarnation || !from.open;
  if (m.where == Message::Where::in_log || ended) return fetch(from, m);
  from.receiving[MessageName(m.frame)] = &m;
  ask_for(from, m.frame);
}

void Process::ask_for(Peer& from, const Frame& message) {
  Frame ask = message;
  ask.kind = FrameKind::clear_to_send;
  ask.source = self_;
  ask.incarnation = incarnation_;
  ask.payload = {};
  from.queue.push_back(ask);
  pump(from);
}

void Process::finish(Message& m, const Payload& payload) {
  Peer& from = peer(m.source);
  from.unfinished.erase(MessageName(m.frame));
  on_payload_of(from, m, payload);
  m.receive->payload = payload;
  m.receive->complete = true;
  messages_.put(m);
}

// ---- payloads from logs

void Process::fetch(Peer& from, Message& m) {
  m.fetch = ++questions_;
  fetches_[m.fetch] = &m;
  world_.fetch(*this, node_of(from), from.rank, m.frame, m.fetch);
}

void Process::on_fetched(Rank, std::uint64_t question, const Frame& record) {
  if (auto again = fetches_again_.extract(question); !again.empty()) {
    return on_data_again(peer(again.mapped().first), again.mapped().second, record.payload);
  }
  auto at = fetches_.find(question);
  if (at == fetches_.end()) return;
  Message& m = *at->second;
  fetches_.erase(at);
  finish(m, record.payload);
}

void Process::fetch_what_was_coming(Peer& from) {
  for (auto& [name, m] : std::exchange(from.receiving, {})) fetch(from, *m);
}

// Messages of which the envelope came and not the payload, whose log is lost.
void Process::lose_unfinished(Peer& from) {
  for (auto& [name, m] : from.unfinished) {
    if (m->frame.incarnation >= from.known.log_base) continue;
    if (m->fetch) fetches_.erase(std::exchange(m->fetch, 0));
    from.receiving.erase(name);
    m->in_some_log = false;
    from.unlogged.emplace(name, m);
  }
}

}  // namespace hf::sim::job
