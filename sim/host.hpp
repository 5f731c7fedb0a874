// One simulated agent, or the head: the cores of membership and tree, joined as the daemon joins them.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "core/membership/membership.hpp"
#include "core/tree/tree.hpp"
#include "sim/network.hpp"

namespace hf::sim {

struct CoreOptions {
  int agents = 1024;
  core::tree::TreeOptions tree;
  core::membership::MembershipOptions membership;
};

struct Traffic {
  std::uint64_t heartbeats = 0, other_frames = 0, bytes = 0;
};

class Host {
 public:
  struct Handlers {
    std::function<void(Frame)> send;
    std::function<void(NodeId at, const core::tree::Delivery&, int depth)> on_delivery;
    std::function<void(NodeId at, const std::vector<NodeId>& dead, int depth)> on_view;
    std::function<void(NodeId at, core::membership::EndReason)> on_ended;
    std::function<void(NodeId at, NodeId dead)> on_heard_dead;  // a frame was taken of an agent that it knows to be dead
  };
  Host(const CoreOptions& options, NodeId self, Instant now, const Handlers& handlers);

  NodeId self() const { return self_; }
  core::membership::Membership& membership() { return membership_; }
  core::tree::Tree& tree() { return tree_; }
  Traffic& traffic() { return traffic_; }

  void on_frame(Instant now, const Frame& frame);
  void on_closed(Instant now, NodeId peer);
  void on_timeout(Instant now);
  // After a message was posted or the job has started.
  void drain(Instant now, int depth);
  std::optional<Instant> next_deadline() const;

 private:
  void send(core::tree::Transmit transmit, int depth);

  CoreOptions options_;
  NodeId self_;
  const Handlers& handlers_;
  core::membership::Membership membership_;
  core::tree::Tree tree_;
  Traffic traffic_;
  int unsent_depth_ = 0;
};

}  // namespace hf::sim
