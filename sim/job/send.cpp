// Process: from the program's call to the connection. As src/engine/send.cpp, under pessimist.
#include "sim/job/mutation.hpp"
#include "sim/job/node.hpp"
#include "sim/job/process.hpp"
#include "sim/job/world.hpp"

namespace hf::sim::job {

using wire::FrameKind;

Frame Process::new_frame(SendMode mode, Context context, MessageTag tag, std::uint64_t value, std::uint32_t name) {
  Frame frame;
  frame.kind = mode == SendMode::large ? FrameKind::rendezvous : FrameKind::eager;
  frame.synchronous = mode == SendMode::synchronous;
  frame.source = self_;
  frame.incarnation = incarnation_;
  frame.context = context;
  frame.tag = tag;
  frame.payload = {value, name};
  world_.divert(*this, frame);
  if (optimistic_) frame.payload.state = world_.checker().lineage().snapshot(life_.lineage);
  return frame;
}

// True: a predecessor has sent it.
bool Process::send_frame(Peer& to, Request& request, const Frame& frame) {
  if (send_again(to, request, frame)) return true;
  if (send_at_once(to, request, frame)) return false;
  if (!optimistic_) return send_logged(to, request, frame), false;
  send_optimistic(to, request, frame);
  const bool waits = stream(to).published < stream(to).records.size() || (!request.complete && !frame.synchronous);
  if (waits && !dead_) world_.checker().violation(fmt::format("rank {} ({}): a send waits", self_.value, incarnation_.value));
  return false;
}

// A send that a predecessor has made already: compared, not transmitted.
bool Process::send_again(Peer& to, Request& request, const Frame& frame) {
  // Also when it was in a log that is lost.
  if (HF_MUTATED(SENT_BEFORE_IS_SENT) && protocol_.replaying() && !frame.synchronous) return request.complete = true;
  auto at = sent_before_.find({to.rank, {false, MessageName(frame)}});
  if (at == sent_before_.end()) return false;
  const Frame& before = *at->second;
  if (before.tag != frame.tag || before.kind != frame.kind) diverged("a send with another tag or length");
  if (before.payload.value != frame.payload.value) diverged("a send with another payload");
  sent_before_.erase(at);
  await_match(to, request, frame);
  return true;
}

void Process::await_match(Peer& to, Request& request, const Frame& frame) {
  request.complete = !frame.synchronous || to.early_matched.erase(MessageName(frame)) > 0;
  if (!request.complete) to.synchronous.emplace(MessageName(frame), &request);
}

// The short way: it is given to the connection first, and logged then.
bool Process::send_at_once(Peer& to, Request& request, const Frame& frame) {
  Stream& own = stream(to);
  if (!to.open || restarted_ || frame.large() || frame.synchronous) return false;
  if (optimistic_ ? optimist_.vector().changed_since(to.said) : !protocol_.gate().open()) return false;
  if (!to.queue.empty() || to.sent != own.records.size()) return false;
  Frame now = frame;
  now.position = own.records.size();
  transmit(to, now);
  if (point()) return true;
  own.records.push_back(now);
  publish(to, own.records.size());
  to.sent = own.records.size();
  request.complete = true;
  point();
  return true;
}

void Process::send_logged(Peer& to, Request& request, Frame frame) {
  Stream& own = stream(to);
  settle();
  if (dead_) return;
  const bool nothing_waits = to.sent == own.records.size();
  frame.position = own.records.size();
  own.records.push_back(frame);
  if (point()) return;
  if (HF_MUTATED(LOG_UNGATED)) publish(to, own.records.size());  // who reads the log learns of us as who gets the frame
  if (!protocol_.gate().offer(frame.kind, 0)) {
    if (frame.synchronous) await_match(to, request, frame);
    held_.push_back({&to, own.records.size(), frame.synchronous ? nullptr : &request});
    return;
  }
  publish(to, own.records.size());
  if (point()) return;
  await_match(to, request, frame);
  publish_and_offer(to, nothing_waits);
}

void Process::publish_and_offer(Peer& to, bool nothing_waits) {
  if (nothing_waits && ensure_open(to)) {
    transmit(to, stream(to).records.back());
    to.sent = stream(to).records.size();
  } else if (to.open) {
    pump(to);
  }
  point();
}

void Process::acknowledge(Peer& to, const Frame& message) {
  Frame frame;
  frame.kind = FrameKind::matched;
  frame.source = self_;
  frame.incarnation = incarnation_;
  frame.context = message.context;
  frame.sequence = message.sequence;
  if (sent_before_.erase({to.rank, {true, MessageName(frame)}}) > 0) return;
  settle();
  if (dead_) return;
  frame.payload = {life_.determined.size(), static_cast<std::uint32_t>(life_.seen.size())};  // for the checker
  if (optimistic_) return send_matched(to, frame);
  Stream& own = stream(to);
  const bool nothing_waits = to.sent == own.records.size();
  frame.position = own.records.size();
  own.records.push_back(frame);
  if (!protocol_.gate().offer(frame.kind, 0)) return void(held_.push_back({&to, own.records.size(), nullptr}));
  publish(to, own.records.size());
  publish_and_offer(to, nothing_waits);
}

// From here on others may read it.
void Process::publish(Peer& to, std::size_t end) {
  if (dead_) return;
  Stream& own = stream(to);
  for (std::size_t i = own.published; i < end; ++i) world_.on_left(*this, own.records[i]);
  own.published = std::max(own.published, end);
  node_.on_published(log_, to.rank);
}

void Process::transmit(Peer& to, const Frame& frame) {
  if (dead_) return;
  if (frame.logged()) world_.on_left(*this, frame);
  world_.network().send(to.connection, self_, frame);
}

void Process::pump(Peer& to) {
  if (dead_) return;
  Stream& own = stream(to);
  if ((to.sent >= own.published && to.queue.empty()) || !ensure_open(to)) return;
  for (; to.sent < own.published; ++to.sent) transmit(to, own.records[to.sent]);
  for (; !to.queue.empty(); to.queue.pop_front()) transmit(to, to.queue.front());
}

void Process::on_matched(Peer& from, const Frame& frame) {
  const MessageName name(frame);
  auto at = from.synchronous.find(name);
  if (at != from.synchronous.end()) {
    at->second->complete = true;
    from.synchronous.erase(at);
  } else if (frame.sequence >= context(frame.context).peers[from.rank].next_send) {
    from.early_matched.insert(name);  // the program is replaying, and has not sent it again yet
  }
}

void Process::on_clear_to_send(Peer& to, const Frame& request) {
  const Stream& own = stream(to);
  // A position in a predecessor's log: another record may stand there in ours.
  if (request.position >= own.published) return;
  const Frame& record = own.records[request.position];
  if (record.kind == FrameKind::matched || MessageName(record) != MessageName(request)) return;
  Frame data = record;
  data.kind = FrameKind::data;
  to.queue.push_back(data);
  pump(to);
}

}  // namespace hf::sim::job
