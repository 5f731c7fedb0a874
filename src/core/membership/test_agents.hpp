// For tests: some agents and their head made of the cores of membership and tree, with a network in which nothing happens
// unless the test says so. Frames between two keep their order; each arrives when the test lets them.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "core/membership/membership.hpp"
#include "core/tree/tree.hpp"

namespace hf::core::membership {

class TestAgents {
 public:
  struct Agent {
    Agent(const MembershipOptions& o, const tree::TreeOptions& t, int agents, NodeId self, Instant now)
        : membership(o, agents, t.fan_out, self, now), tree(t, self, membership.shape()) {}
    Membership membership;
    tree::Tree tree;
    bool dead = false, stopped = false, ended = false;
  };
  struct Said {  // by one agent, in the order in which it happened
    NodeId at{};
    std::string text;
  };

  TestAgents(int agents, int fan_out) : agents_(agents) {
    tree_options_.fan_out = fan_out;
    for (int i = -1; i < agents; ++i) {
      all_.push_back(std::make_unique<Agent>(options_, tree_options_, agents, NodeId(i), now_));
    }
    for (int i = -1; i < agents; ++i) drain(NodeId(i));
  }
  Agent& of(NodeId node) { return *all_.at(static_cast<std::size_t>(node.value + 1)); }
  Instant now() const { return now_; }
  int agents() const { return agents_; }

  // Lets time pass: all that is on its way arrives at once, and timers fire when they are due.
  void run(std::int64_t ns) {
    Instant end{now_.value + ns};
    for (;;) {
      deliver_all();
      std::optional<Instant> next;
      for (int i = -1; i < agents_; ++i) {
        if (runs(NodeId(i))) tree::earlier(next, deadline(NodeId(i)));
      }
      if (!next || *next > end) break;
      now_ = std::max(now_, *next);
      for (int i = -1; i < agents_; ++i) {
        auto due = runs(NodeId(i)) ? deadline(NodeId(i)) : std::nullopt;
        if (due && *due <= now_) timeout(NodeId(i));
      }
    }
    now_ = end;
  }
  void deliver_all() {
    for (bool moved = true; std::exchange(moved, false);) {
      for (NodeId gone : std::exchange(closing_, {})) {
        for (int i = -1; i < agents_; ++i) {
          if (runs(NodeId(i)) && !parted(NodeId(i), gone)) close(NodeId(i), gone);
        }
      }
      for (auto& [ends, frames] : links_) {
        while (!frames.empty() && !parted(ends.first, ends.second) && !of(ends.second).stopped) {
          moved = true;
          auto frame = std::move(frames.front());
          frames.pop_front();
          deliver(ends.first, ends.second, frame);
        }
      }
    }
  }
  void timeout(NodeId node) {
    of(node).membership.on_timeout(now_);
    if (!of(node).membership.ended()) of(node).tree.on_timeout(now_);
    drain(node);
  }
  void kill(NodeId node) { of(node).dead = true; }
  void close(NodeId at, NodeId peer) {
    of(at).membership.on_closed(now_, peer);
    drain(at);
  }
  void part(std::vector<NodeId> side) {
    side_.clear();
    for (NodeId node : side) side_[node] = true;
  }
  void drain(NodeId node) {
    Agent& a = of(node);
    for (Event event; a.membership.poll_event(event);) {
      if (event.kind == Event::ended) {
        static const char* const reasons[] = {"it was declared dead", "the head is gone", "it is cut off"};
        a.ended = true;
        closing_.push_back(node);
        say(node, std::string("ends: ") + reasons[static_cast<int>(event.reason)]);
        return;
      }
      a.tree.on_view(now_, a.membership.version());
      if (node == head_node) say(node, "decides version " + std::to_string(a.membership.version().value) + ": dead" + list(event.dead));
    }
    Transmit transmit;
    while (a.membership.poll_transmit(transmit)) send(node, transmit);
    while (a.tree.poll_transmit(now_, transmit)) send(node, transmit);
    for (tree::Delivery d; a.tree.poll_delivery(d);) {
      say(node, "gets \"" + std::string(text_of(d.payload)) + "\" from " + name(d.source));
    }
  }
  std::vector<Said> poll_said() { return std::exchange(said_, {}); }
  static std::string name(NodeId node) { return node == head_node ? "head" : std::to_string(node.value); }
  static std::string list(const std::vector<NodeId>& nodes) {
    std::string out;
    for (NodeId node : nodes) out += " " + name(node);
    return out;
  }

  // Frames that were refused since the last call.
  int poll_refused() { return std::exchange(refused_, 0); }

 private:
  bool runs(NodeId node) { return !of(node).dead && !of(node).stopped && !of(node).ended; }
  bool parted(NodeId a, NodeId b) const { return side_.contains(a) != side_.contains(b); }
  std::optional<Instant> deadline(NodeId node) {
    auto next = of(node).membership.next_deadline();
    tree::earlier(next, of(node).tree.next_deadline());
    return next;
  }
  void send(NodeId from, Transmit& transmit) { links_[{from, transmit.to}].push_back(std::move(transmit.frame)); }
  void deliver(NodeId from, NodeId to, Bytes bytes) {
    Agent& a = of(to);
    if (a.dead || a.ended) return;
    auto frame = wire::decode_tree_frame(bytes, agents_);
    HF_CHECK(frame);
    auto verdict = a.membership.on_frame(now_, from, *frame);
    if (verdict == Membership::Verdict::items) a.tree.on_items(now_, from, frame->items);
    if (verdict == Membership::Verdict::refused) ++refused_;
    drain(to);
  }
  void say(NodeId at, std::string text) { said_.push_back({at, std::move(text)}); }

  MembershipOptions options_;
  tree::TreeOptions tree_options_;
  int agents_;
  Instant now_{};
  std::vector<std::unique_ptr<Agent>> all_;
  std::map<std::pair<NodeId, NodeId>, std::deque<std::vector<std::byte>>> links_;
  std::map<NodeId, bool> side_;
  std::vector<NodeId> closing_;  // processes that have ended, and nobody has seen it yet
  std::vector<Said> said_;
  int refused_ = 0;
};

}  // namespace hf::core::membership
