#include "core/tree/tree.hpp"

#include "base/check.hpp"

namespace hf::core::tree {

using wire::ItemKind;
using wire::ItemView;

namespace {

Message message_of(const ItemView& item) {
  return {{item.payload.begin(), item.payload.end()}, item.head.other, item.notes};
}

}  // namespace

Tree::Tree(const TreeOptions& options, NodeId self, const Shape& shape)
    : options_(options),
      self_(self),
      shape_(shape),
      out_(options_),
      multicast_(options_, self, shape, out_),
      down_(self == head_node ? static_cast<std::size_t>(shape.agents()) : 0),
      up_in_(down_.size()) {}

void Tree::on_items(Instant now, NodeId from, std::span<const ItemView> items) {
  for (const ItemView& item : items) on_item(now, from, item);
  deliver_ready(now);
}

void Tree::on_item(Instant now, NodeId from, const ItemView& item) {
  NodeId agent{item.head.node};
  ControlSequence sequence{item.head.sequence};
  bool at_head = self_ == head_node;
  switch (item.head.kind) {
    case ItemKind::up:
      return at_head ? on_up(now, item) : pass_on(item);
    case ItemKind::down:
      return agent == self_ ? on_down(now, item) : pass_on(item);
    case ItemKind::up_taken:
      return agent == self_ ? on_taken(now, self_, up_, sequence) : pass_on(item);
    case ItemKind::down_taken:
      return at_head ? on_taken(now, agent, down_[static_cast<std::size_t>(agent.value)], sequence) : pass_on(item);
    case ItemKind::all:
      if (!at_head) multicast_.on_message(now, item);
      return;
    case ItemKind::all_taken:
      return multicast_.on_taken(now, from, item.head);
    case ItemKind::all_stable:
      if (!at_head) multicast_.on_stable(now, sequence);
      return;
  }
}

void Tree::on_up(Instant now, const ItemView& item) {
  NodeId agent{item.head.node};
  // A living agent may still pass on what a dead one said.
  if (!shape_.is_alive(agent)) return;
  up_in_[static_cast<std::size_t>(agent.value)].offer(ControlSequence(item.head.sequence), message_of(item), options_.window_messages);
  to_acknowledge_.insert(agent);
  acknowledge_.arm_if_idle(after(now, options_.ack_delay_ns));
}

void Tree::on_down(Instant now, const ItemView& item) {
  down_in_.offer(ControlSequence(item.head.sequence), message_of(item), options_.window_messages);
  to_acknowledge_.insert(self_);
  acknowledge_.arm_if_idle(after(now, options_.ack_delay_ns));
}

// Of no more than the windows of those whose messages pass here. What cannot be passed on is sent again by its source.
void Tree::pass_on(const ItemView& item) {
  bool upward = item.head.kind == ItemKind::up || item.head.kind == ItemKind::down_taken;
  NodeId agent{item.head.node};
  if (!shape_.is_alive(agent)) return;
  NodeId hop = upward ? shape_.parent(self_) : shape_.next_hop(self_, agent);
  if (!upward && hop == head_node) return;  // it does not stand below here
  out_.add(hop, item.head, {}, item.payload);
}

void Tree::deliver_ready(Instant now) {
  if (self_ != head_node) {
    while (deliver_one(now)) {
    }
    return;
  }
  for (NodeId agent : to_acknowledge_) {
    InOrder& in = up_in_[static_cast<std::size_t>(agent.value)];
    while (in.ready()) deliveries_.push_back({agent, in.take().payload});
  }
}

// The head's messages to one agent and to all are one sequence for each agent: a message to one names how many to all were
// posted before it, a message to all notes whose own were not acknowledged yet.
bool Tree::deliver_one(Instant now) {
  const Message* own = down_in_.ready();
#ifndef HOLDFAST_MUTATE_OWN_BEFORE_ALL
  if (own && own->other > multicast_.delivered().value) own = nullptr;
#endif
  if (own) {
    deliveries_.push_back({head_node, down_in_.take().payload});
    return true;
  }
  const Message* to_all = multicast_.undelivered();
  if (!to_all) return false;
#ifndef HOLDFAST_MUTATE_ALL_BEFORE_OWN
  for (const wire::OrderNote& note : to_all->notes) {
    if (note.node == self_.value && note.sequence > down_in_.next().value) return false;
  }
#endif
  deliveries_.push_back({head_node, to_all->payload});
  multicast_.on_delivered(now);
  return true;
}

void Tree::on_view(Instant now, ViewVersion version) {
  version_ = version;
  out_.on_view(shape_);
  multicast_.on_view(now, version);
  if (self_ != head_node) return resend_changed_way(now, self_, up_);
  for (auto agent = unacknowledged_.begin(); agent != unacknowledged_.end();) {
    Sending& sending = down_[static_cast<std::size_t>(agent->value)];
    if (shape_.is_alive(*agent)) {
      resend_changed_way(now, *agent++, sending);
    } else {
      sending.kept.clear();
      sending.resend.stop();
      agent = unacknowledged_.erase(agent);
    }
  }
}

void Tree::on_timeout(Instant now) {
  multicast_.on_timeout(now);
  if (acknowledge_.poll(now)) send_acknowledgements();
  if (up_.resend.poll(now)) send_again(now, self_, up_);
  for (NodeId agent : unacknowledged_) {
    Sending& sending = down_[static_cast<std::size_t>(agent.value)];
    if (sending.resend.poll(now)) send_again(now, agent, sending);
  }
}

std::optional<Instant> Tree::next_deadline() const {
  std::optional<Instant> soonest = up_.resend.at();
  earlier(soonest, acknowledge_.at());
  multicast_.next_deadline(soonest);
  out_.next_deadline(soonest);
  for (NodeId agent : unacknowledged_) earlier(soonest, down_[static_cast<std::size_t>(agent.value)].resend.at());
  return soonest;
}

bool Tree::poll_transmit(Instant now, Transmit& out) {
  return out_.poll(now, self_, version_, out);
}

bool Tree::poll_delivery(Delivery& out) {
  if (deliveries_.empty()) return false;
  out = std::move(deliveries_.front());
  deliveries_.pop_front();
  return true;
}

}  // namespace hf::core::tree
