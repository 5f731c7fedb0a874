#include "core/tree/multicast.hpp"

#include <algorithm>

namespace hf::core::tree {

using wire::ItemKind;
using wire::TreeItem;

Multicast::Multicast(const TreeOptions& options, NodeId self, const Shape& shape, Outgoing& out)
    : options_(options), self_(self), shape_(shape), out_(out) {
  for (NodeId child : shape_.children(self_)) children_[child];
}

bool Multicast::post(Instant now, Message message) {
  if (!kept_.has_room(message.payload.size(), options_)) return false;
  kept_.push(std::move(message));
  delivered_ = kept_.next();
  send_new(now);
  settle(now);
  return true;
}

bool Multicast::on_message(Instant now, const wire::ItemView& item) {
  if (ControlSequence(item.head.other) <= delivered_) kept_.drop_before(ControlSequence(item.head.other));
  // A parent sends from what all have on: what is beyond the next comes again. What comes again was not known to be here.
  if (item.head.sequence < kept_.next().value) tell_.arm_if_idle(after(now, options_.ack_delay_ns));
  if (item.head.sequence != kept_.next().value) return false;
  if (!kept_.has_room(item.payload.size(), options_)) return false;
  kept_.push({{item.payload.begin(), item.payload.end()}, 0, item.notes});
  send_new(now);
  return true;
}

void Multicast::send(NodeId to, ControlSequence from, ControlSequence until) {
  for (ControlSequence n = from; n < until; ++n) {
    const Message& message = kept_.at(n);
    out_.add(to, {.kind = ItemKind::all, .sequence = n.value, .other = kept_.first().value}, message.notes, message.payload);
  }
}

void Multicast::send_new(Instant now) {
  for (auto& [node, child] : children_) {
    if (child.sent == kept_.next()) continue;
    send(node, std::max(child.sent, kept_.first()), kept_.next());
    child.sent = kept_.next();
    child.resend.arm_if_idle(after(now, options_.resend_ns));
  }
}

void Multicast::on_taken(Instant now, NodeId from, const TreeItem& item) {
  Taken said{ViewVersion(item.version), ControlSequence(item.sequence), ControlSequence(item.other)};
  Taken& last = taken_[from];
  if (said.own > last.own) {
    if (auto child = children_.find(from); child != children_.end()) {
      child->second.resend.stop();
      if (said.own < child->second.sent) child->second.resend.arm(after(now, options_.resend_ns));
    }
  }
  last = said;
  settle(now);
}

// How far everybody below this agent is, in the tree of its version; as far as it can be known.
ControlSequence Multicast::taken_below() const {
  ControlSequence least = delivered_;
  for (const auto& [node, child] : children_) {
    auto said = taken_.find(node);
#ifdef HOLDFAST_MUTATE_OLD_TREE_COUNTS
    bool counts = said != taken_.end();
#else
    bool counts = said != taken_.end() && said->second.version == version_;
#endif
    least = std::min(least, counts ? std::max(said->second.below, kept_.first()) : kept_.first());
  }
  return least;
}

// Something changed that others may have to hear: the head learns what is stable, an agent tells its parent in a while.
void Multicast::settle(Instant now) {
  if (self_ == head_node) return on_stable(now, taken_below());
  Taken current{version_, delivered_, taken_below()};
  if (current.version != told_.version || current.own != told_.own || current.below != told_.below ||
      shape_.parent(self_) != told_to_) {
    tell_.arm_if_idle(after(now, options_.ack_delay_ns));
  }
}

void Multicast::tell_up() {
  told_ = {version_, delivered_, taken_below()};
  told_to_ = shape_.parent(self_);
  out_.add(told_to_, {.kind = ItemKind::all_taken,
                      .sequence = told_.own.value,
                      .other = told_.below.value,
                      .version = told_.version.value});
}

void Multicast::on_stable(Instant now, ControlSequence before) {
  if (before > delivered_) return;  // never told here: a mistake of the sender
  if (!kept_.drop_before(before)) return;
  if (self_ == head_node) return tell_stable_.arm_if_idle(after(now, options_.stable_delay_ns));
  tell_stable();
}

void Multicast::tell_stable() {
  if (stable_told_ == kept_.first()) return;
  stable_told_ = kept_.first();
  for (const auto& [node, child] : children_) out_.add(node, {.kind = ItemKind::all_stable, .sequence = stable_told_.value});
}

void Multicast::on_delivered(Instant now) {
  ++delivered_;
  settle(now);
}

const Message* Multicast::undelivered() const {
  return delivered_ < kept_.next() ? &kept_.at(delivered_) : nullptr;
}

void Multicast::on_view(Instant now, ViewVersion version) {
  version_ = version;
  std::map<NodeId, Child> before;
  before.swap(children_);
  for (NodeId node : shape_.children(self_)) {
    auto known = before.find(node);
    children_[node] = known != before.end() ? known->second : Child{};
  }
  std::erase_if(taken_, [&](const auto& entry) { return !shape_.is_alive(entry.first); });
  send_new(now);
  // With nothing on its way there is nothing that the new tree must agree on.
  if (!kept_.empty()) settle(now);
}

void Multicast::on_timeout(Instant now) {
  if (tell_.poll(now)) tell_up();
  if (tell_stable_.poll(now)) tell_stable();
  for (auto& [node, child] : children_) {
    if (!child.resend.poll(now)) continue;
    ControlSequence from = std::max(taken_[node].own, kept_.first());
    if (from >= child.sent) continue;
    send(node, from, child.sent);
    child.resend.arm(after(now, options_.resend_ns));
  }
}

void Multicast::next_deadline(std::optional<Instant>& soonest) const {
  earlier(soonest, tell_.at());
  earlier(soonest, tell_stable_.at());
  for (const auto& [node, child] : children_) earlier(soonest, child.resend.at());
}

}  // namespace hf::core::tree
