#include "daemon/tree_node.hpp"

#include <algorithm>
#include <utility>

#include "os/clock.hpp"

namespace hf::daemon {
namespace {

// Of a neighbour that is not reached: the cores say again what was lost.
constexpr std::size_t waiting_frames_max = 64;

using ViewEvent = core::membership::Event;
using core::membership::Membership;

bool is_heartbeat(const std::vector<std::byte>& frame) {
  return static_cast<wire::TreeKind>(frame.front()) == wire::TreeKind::heartbeat;
}

}  // namespace

TreeNode::TreeNode(os::EventLoop& loop, const JobKey& key, NodeId self, const TreeSettings& settings, Handlers handlers)
    : loop_(loop),
      key_(key),
      self_(self),
      handlers_(std::move(handlers)),
      agents_(settings.agents),
      epoch_(settings.epoch),
      membership_(settings.membership, settings.agents, settings.tree.fan_out, self, os::now()),
      tree_(settings.tree, self, membership_.shape()) {
  arm();
}

TreeNode::~TreeNode() {
  loop_.cancel(timer_);
  loop_.cancel(cleaning_);
  // Others may still hold the channels.
  for (auto& [peer, neighbour] : neighbours_) {
    for (const ChannelPtr& link : neighbour.links) link->set_handlers([](ControlKind, Bytes) {}, [] {});
  }
}

void TreeNode::add_link(NodeId peer, ChannelPtr channel) {
  ControlChannel* raw = channel.get();
  channel->set_handlers([this, peer, raw](ControlKind kind, Bytes payload) { on_channel_frame(peer, *raw, kind, payload); },
                        [this, peer, raw] { on_channel_closed(peer, raw); });
  Neighbour& neighbour = neighbours_[peer];
  for (auto& frame : std::exchange(neighbour.waiting, {})) channel->send_bytes(ControlKind::tree, frame);
  channel->hold(held_.contains(peer));
  neighbour.links.push_back(std::move(channel));
  drain();
}

void TreeNode::set_address(NodeId agent, Address at) {
  Neighbour& neighbour = neighbours_[agent];
  neighbour.at = at;
  neighbour.asked = false;
  if (!neighbour.waiting.empty()) reach(agent);
}

void TreeNode::on_channel_frame(NodeId peer, ControlChannel& channel, ControlKind kind, Bytes payload) {
  if (kind == ControlKind::head_lost && self_ != head_node && peer == shape().parent(self_)) {
    if (!std::exchange(ended_, true)) handlers_.on_ended(EndReason::head_gone);
    return;
  }
  auto frame = kind == ControlKind::tree ? wire::decode_tree_frame(payload, agents_) : std::nullopt;
  if (!frame) {  // it has the key, and is no neighbour
    channel.shut();
    return on_channel_closed(peer, &channel);
  }
  const Instant now = os::now();
  const Membership::Verdict verdict = membership_.on_frame(now, peer, *frame);
  if (verdict == Membership::Verdict::items) tree_.on_items(now, peer, frame->items);
  drain();
}

void TreeNode::on_channel_closed(NodeId peer, const ControlChannel* channel) {
  auto& links = neighbours_[peer].links;
  auto here = std::ranges::find(links, channel, [](const ChannelPtr& link) { return link.get(); });
  if (here == links.end()) return;
  ChannelPtr closed = *here;
  links.erase(here);
  loop_.at(os::now(), [closed] {});  // not from inside its own handler
  if (!links.empty()) return;
  if (ending_ && self_ != head_node && peer == shape().parent(self_) && !std::exchange(ended_, true)) {
    return handlers_.on_ended(peer == head_node ? EndReason::head_gone : EndReason::cut_off);
  }
  on_lost_link(peer);
}

void TreeNode::on_lost_link(NodeId peer) {
  membership_.on_closed(os::now(), peer);
  drain();
}

void TreeNode::tell_children(ControlKind kind) {
  for (NodeId child : shape().children(self_)) {
    for (const ChannelPtr& link : neighbours_[child].links) {
      link->send_bytes(kind);
      link->flush_blocking();
    }
  }
}

void TreeNode::send(core::tree::Transmit transmit) {
  Neighbour& neighbour = neighbours_[transmit.to];
  if (!neighbour.links.empty()) return neighbour.links.back()->send_bytes(ControlKind::tree, transmit.frame);
  if (transmit.to != head_node && !is_alive(transmit.to)) return;
  // Of heartbeats the last is enough: a burst of them would say nothing of how regular they are.
  if (is_heartbeat(transmit.frame)) std::erase_if(neighbour.waiting, is_heartbeat);
  if (neighbour.waiting.size() == waiting_frames_max) neighbour.waiting.pop_front();
  neighbour.waiting.push_back(std::move(transmit.frame));
  reach(transmit.to);
}

void TreeNode::reach(NodeId peer) {
  Neighbour& neighbour = neighbours_[peer];
  if (neighbour.visit || !neighbour.links.empty()) return;
  if (neighbour.at) return dial(peer, neighbour);
  const bool above = self_ != head_node && (peer == head_node || !is_alive(peer) || shape().is_above(peer, self_));
  const bool built = started_ || membership_.version().value > 0;  // before, all agents dial their parents by themselves
  if (built && !above && !std::exchange(neighbour.asked, true)) handlers_.on_unreachable(peer);
}

void TreeNode::dial(NodeId peer, Neighbour& neighbour) {
  neighbour.visit = std::make_unique<ControlVisit>(
      loop_, key_, self_, Purpose::tree, *neighbour.at,
      ControlVisit::Handlers{[this, peer] { on_visit_over(peer, true); }, [](ControlKind, Bytes) {}, [this, peer] { on_visit_over(peer, false); }},
      epoch_);
  neighbour.visit->hold(held_.contains(peer));
}

// Not reached: the next frame tries again. Where nobody listens any more, nobody lives.
void TreeNode::on_visit_over(NodeId peer, bool open) {
  std::unique_ptr<ControlVisit> visit = std::exchange(neighbours_[peer].visit, nullptr);
  ChannelPtr channel = open ? visit->share() : nullptr;
  const bool refused = !open && visit->refused();
  old_visits_.push_back(std::move(visit));
  if (cleaning_ == 0) {
    cleaning_ = loop_.at(os::now(), [this] {
      cleaning_ = 0;
      old_visits_.clear();
    });
  }
  if (channel) return add_link(peer, std::move(channel));
  if (!refused || !neighbours_[peer].links.empty()) return;
  membership_.on_closed(os::now(), peer);
  drain();
}

void TreeNode::post(NodeId to, bool to_all, ControlKind kind, Bytes body, Bytes tail) {
  Waiting message{to, to_all, {}};
  ByteWriter out(message.payload);
  out.put(kind);
  out.put_bytes(body);
  out.put_bytes(tail);
  if (!waiting_.empty() || !offer(message)) waiting_.push_back(std::move(message));
  drain();
}

// False: there is no room for it. What is for the dead is let go.
bool TreeNode::offer(const Waiting& message) {
  const Instant now = os::now();
  if (membership_.ended()) return true;
  if (self_ != head_node) return tree_.post_up(now, message.payload);
  if (message.to_all) return tree_.post_all(now, message.payload);
  return !is_alive(message.to) || tree_.post_down(now, message.to, message.payload);
}

void TreeNode::offer_waiting() {
  while (!waiting_.empty() && offer(waiting_.front())) waiting_.pop_front();
}

void TreeNode::on_started() {
  started_ = true;
  membership_.on_started(os::now());
  drain();
}

void TreeNode::on_busy() {
  if (ended_) return;
  membership_.on_busy(os::now());
  for (core::tree::Transmit transmit; membership_.poll_transmit(transmit);) send(std::move(transmit));
}

void TreeNode::on_ending() {
  ending_ = true;
  membership_.on_ending();
}

void TreeNode::hold(std::set<NodeId> nodes) {
  held_ = std::move(nodes);
  for (auto& [peer, neighbour] : neighbours_) {
    const std::vector<ChannelPtr> links = neighbour.links;  // what is let go may bring more
    for (const ChannelPtr& link : links) link->hold(held_.contains(peer));
    if (neighbour.visit) neighbour.visit->hold(held_.contains(peer));
  }
}

void TreeNode::on_found_dead(NodeId agent) {
  membership_.on_found_dead(os::now(), agent);
  drain();
}

// Handlers may post and end; what they cause is taken in the same turn.
void TreeNode::drain() {
  again_ = true;
  if (std::exchange(draining_, true)) return;
  while (std::exchange(again_, false)) drain_once();
  draining_ = false;
  arm();
}

void TreeNode::drain_once() {
  const Instant now = os::now();
  take_events();
  offer_waiting();
  core::tree::Transmit transmit;
  while (membership_.poll_transmit(transmit)) send(std::move(transmit));
  while (tree_.poll_transmit(now, transmit)) send(std::move(transmit));
  for (core::tree::Delivery delivery; !ended_ && tree_.poll_delivery(delivery);) {
    Bytes payload = delivery.payload;
    ControlKind kind{};
    if (read_struct(payload, kind)) handlers_.on_message(delivery.source, kind, payload);
  }
}

// The tree must see the whole view before a handler posts anything.
void TreeNode::take_events() {
  std::vector<ViewEvent> changes;
  for (ViewEvent event; !ended_ && membership_.poll_event(event);) {
    if (event.kind == ViewEvent::ended) {
      ended_ = true;
      return handlers_.on_ended(event.reason);
    }
    tree_.on_view(os::now(), membership_.version());
    for (NodeId dead : event.dead) neighbours_[dead].waiting.clear();
    changes.push_back(std::move(event));
  }
  for (const ViewEvent& event : changes) {
    for (std::size_t i = 0; i < event.dead.size(); ++i) handlers_.on_dead(event.dead[i], event.silent_ms[i]);
  }
}

void TreeNode::arm() {
  std::optional<Instant> next = membership_.next_deadline();
  if (!ended_) core::tree::earlier(next, tree_.next_deadline());
  if (ended_) next.reset();
  if (next == armed_ && (timer_ != 0 || !next)) return;
  loop_.cancel(timer_);
  armed_ = next;
  if (!next) return;
  timer_ = loop_.at(*next, [this] {
    timer_ = 0;
    look_at_hosts();
    membership_.on_timeout(os::now());
    take_events();
    if (!ended_) tree_.on_timeout(os::now());
    drain();
  });
}

void TreeNode::look_at_hosts() {
  const Instant now = os::now();
  for (const auto& [peer, neighbour] : neighbours_) {
    for (const ChannelPtr& link : neighbour.links) {
      if (const auto heard = link->host_heard(now)) membership_.on_host_heard(peer, *heard);
    }
  }
}

bool TreeNode::all_sent() const {
  if (!waiting_.empty() || tree_.has_unsent()) return false;
  return std::ranges::all_of(neighbours_, [this](const auto& entry) {
    if (entry.first != head_node && !is_alive(entry.first)) return true;
    return std::ranges::all_of(entry.second.links, [](const ChannelPtr& link) { return link->all_sent(); });
  });
}

}  // namespace hf::daemon
