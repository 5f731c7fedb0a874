#include "sim/host.hpp"

#include "base/check.hpp"

namespace hf::sim {

using core::membership::Membership;

Host::Host(const CoreOptions& options, NodeId self, Instant now, const Handlers& handlers)
    : options_(options),
      self_(self),
      handlers_(handlers),
      membership_(options.membership, options.agents, options.tree.fan_out, self, now),
      tree_(options.tree, self, membership_.shape()) {}

void Host::on_frame(Instant now, const Frame& frame) {
  auto decoded = wire::decode_tree_frame(frame.bytes, options_.agents);
  HF_CHECK(decoded);
  bool known_dead = !membership_.shape().is_alive(frame.from);
  auto verdict = membership_.on_frame(now, frame.from, *decoded);
  if (known_dead && verdict != Membership::Verdict::refused) handlers_.on_heard_dead(self_, frame.from);
  if (verdict == Membership::Verdict::items) tree_.on_items(now, frame.from, decoded->items);
  drain(now, frame.depth);
}

void Host::on_closed(Instant now, NodeId peer) {
  membership_.on_closed(now, peer);
  drain(now, 0);
}

void Host::on_timeout(Instant now) {
  membership_.on_timeout(now);
  if (!membership_.ended()) tree_.on_timeout(now);
  drain(now, 0);
}

void Host::drain(Instant now, int depth) {
  for (core::membership::Event event; membership_.poll_event(event);) {
    if (event.kind == core::membership::Event::ended) return handlers_.on_ended(self_, event.reason);
    tree_.on_view(now, membership_.version());
    handlers_.on_view(self_, event.dead, depth);
  }
  for (core::tree::Transmit transmit; membership_.poll_transmit(transmit);) send(std::move(transmit), depth);
  // What waits for its frame to leave keeps the length of its chain.
  unsent_depth_ = std::max(unsent_depth_, depth);
  for (core::tree::Transmit transmit; tree_.poll_transmit(now, transmit);) send(std::move(transmit), unsent_depth_);
  if (!tree_.has_unsent()) unsent_depth_ = 0;
  for (core::tree::Delivery delivery; tree_.poll_delivery(delivery);) handlers_.on_delivery(self_, delivery, depth);
}

void Host::send(core::tree::Transmit transmit, int depth) {
  wire::TreeHeader header;
  std::memcpy(&header, transmit.frame.data(), sizeof header);
  ++(header.kind == wire::TreeKind::heartbeat ? traffic_.heartbeats : traffic_.other_frames);
  traffic_.bytes += transmit.frame.size();
  handlers_.send({self_, transmit.to, std::move(transmit.frame), depth + 1});
}

std::optional<Instant> Host::next_deadline() const {
  if (membership_.ended()) return std::nullopt;
  auto soonest = membership_.next_deadline();
  core::tree::earlier(soonest, tree_.next_deadline());
  return soonest;
}

}  // namespace hf::sim
