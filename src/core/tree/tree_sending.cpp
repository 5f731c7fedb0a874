// What a Tree sends from here, until it is acknowledged by the other end.
#include "base/check.hpp"
#include "core/tree/tree.hpp"

namespace hf::core::tree {

using wire::ItemKind;

bool Tree::post_up(Instant now, Bytes payload) {
  HF_CHECK(self_ != head_node);
  return post(now, self_, up_, {{payload.begin(), payload.end()}});
}

bool Tree::post_down(Instant now, NodeId to, Bytes payload) {
  HF_CHECK(self_ == head_node && shape_.is_alive(to));
  // No more of them than a message to all can note.
  if (!unacknowledged_.contains(to) && unacknowledged_.size() == wire::order_notes_max) return false;
  Message message{{payload.begin(), payload.end()}, multicast_.delivered().value};
  if (!post(now, to, down_[static_cast<std::size_t>(to.value)], std::move(message))) return false;
  unacknowledged_.insert(to);
  return true;
}

bool Tree::post_all(Instant now, Bytes payload) {
  HF_CHECK(self_ == head_node);
  return multicast_.post(now, {{payload.begin(), payload.end()}, 0, order_notes()});
}

// Those that all_taken and acknowledgements have not confirmed: whoever is not noted has all his own.
std::vector<wire::OrderNote> Tree::order_notes() const {
  std::vector<wire::OrderNote> notes;
  for (NodeId agent : unacknowledged_) {
    notes.push_back({agent.value, 0, down_[static_cast<std::size_t>(agent.value)].kept.next().value});
  }
  return notes;
}

bool Tree::post(Instant now, NodeId agent, Sending& sending, Message message) {
  if (!sending.kept.has_room(message.payload.size(), options_)) return false;
  ControlSequence n = sending.kept.next();
  sending.kept.push(std::move(message));
  send(now, agent, sending, n);
  return true;
}

NodeId Tree::hop_to(NodeId agent) const {
  return self_ == head_node ? shape_.next_hop(head_node, agent) : shape_.parent(self_);
}

void Tree::send(Instant now, NodeId agent, Sending& sending, ControlSequence from) {
  NodeId hop = hop_to(agent);
  ItemKind kind = self_ == head_node ? ItemKind::down : ItemKind::up;
  for (ControlSequence n = from; n < sending.kept.next(); ++n) {
    const Message& message = sending.kept.at(n);
    out_.add(hop, {.kind = kind, .node = agent.value, .sequence = n.value, .other = message.other}, {}, message.payload);
  }
  if (sending.kept.empty()) return;
  sending.way = shape_.path_to_head(agent);
  sending.resend.arm_if_idle(after(now, options_.resend_ns));
}

void Tree::on_taken(Instant now, NodeId agent, Sending& sending, ControlSequence before) {
  if (!sending.kept.drop_before(before)) return;
  sending.resend.stop();
  if (!sending.kept.empty()) sending.resend.arm(after(now, options_.resend_ns));
  else if (self_ == head_node) unacknowledged_.erase(agent);
}

void Tree::send_again(Instant now, NodeId agent, Sending& sending) {
#ifndef HOLDFAST_MUTATE_NEVER_AGAIN
  send(now, agent, sending, sending.kept.first());
#endif
}

// One of those who pass our messages on has died, or none is as before: what was on its way may be lost.
void Tree::resend_changed_way(Instant now, NodeId agent, Sending& sending) {
  if (!sending.kept.empty() && sending.way != shape_.path_to_head(agent)) send_again(now, agent, sending);
}

void Tree::send_acknowledgements() {
  for (NodeId agent : to_acknowledge_) {
    if (!shape_.is_alive(agent)) continue;
    bool up = self_ == head_node;
    ControlSequence next = up ? up_in_[static_cast<std::size_t>(agent.value)].next() : down_in_.next();
    out_.add(hop_to(agent), {.kind = up ? ItemKind::up_taken : ItemKind::down_taken, .node = agent.value, .sequence = next.value});
  }
  to_acknowledge_.clear();
}

}  // namespace hf::core::tree
