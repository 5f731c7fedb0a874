// The head's side of its agents: has them started, lets only those in that prove the job's key, gives each its place in the tree of
// agents when all have joined, and sees them die.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "daemon/agent.hpp"
#include "daemon/control_door.hpp"
#include "daemon/head_seat.hpp"
#include "daemon/launcher/launcher.hpp"
#include "daemon/tree_node.hpp"

namespace hf::daemon {

class AgentLinks {
 public:
  struct Handlers {
    std::function<void()> on_all_joined;  // from now on there is something to be sent through
    std::function<void(int node, ControlKind kind, Bytes payload)> on_frame;
    std::function<void(int node, std::uint32_t silent_ms)> on_lost;  // 0: its connection is gone
    std::function<void(const std::string&)> on_stranger;             // a connection without the key was refused; once
    std::function<void(const std::string& host, const std::string& line)> on_line;  // of a launcher, or an agent's stderr
  };
  // One agent for each host, numbered in their order.
  AgentLinks(os::EventLoop& loop, std::vector<std::string> hosts, const LaunchOptions& options, const TreeSettings& settings,
             HeadSeat seat, Handlers handlers);
  os::UniqueFd take_input() { return std::move(seat_.input); }  // HeadSeat
  Result<> start();
  // Goes on for a head that is lost: waits for its agents, but for those that were lost before, and takes those for lost that do not come.
  void resume(const std::vector<bool>& lost);
  // A child has ended and was reaped: the agent for which it stood.
  std::optional<Launcher::Ended> on_child_ended(pid_t process, int status) { return launcher_->on_child_ended(process, status); }
  bool joined(int node) const { return agents_[static_cast<std::size_t>(node)].joined; }
  bool all_joined() const { return tree_ != nullptr; }
  // It must end, with its ranks, and is lost.
  void expel(int node) {
    send_bytes(node, ControlKind::lost);
    tree_->on_found_dead(NodeId(node));
  }
  bool is_alive(int node) const { return tree_->is_alive(NodeId(node)); }
  // All of the following: after all have joined. What is for the dead is let go.
  template <class T>
  void send(int node, ControlKind kind, const T& body) {
    send_bytes(node, kind, std::as_bytes(std::span(&body, 1)));
  }
  void send_bytes(int node, ControlKind kind, Bytes body = {}) { tree_->post_down(NodeId(node), kind, body); }
  template <class T>
  void send_all(ControlKind kind, const T& body) {
    send_all_bytes(kind, std::as_bytes(std::span(&body, 1)));
  }
  void send_all_bytes(ControlKind kind, Bytes body) { tree_->post_all(kind, body); }
  void on_started() { tree_->on_started(); }
  void on_ending();
  void hold(std::set<NodeId> agents) { tree_->hold(std::move(agents)); }  // fault injection
  void leave();  // all have ended their processes
  bool all_posted() const { return tree_->all_posted(); }
  bool all_sent() const { return !tree_ || tree_->all_sent(); }
  // What an agent's clock must be raised by to be the head's: 0 on the same machine.
  std::int64_t clock_offset_ns(int node) const { return agents_[static_cast<std::size_t>(node)].clock_offset_ns; }
  Address address_of(int node) const { return node < 0 ? Address{} : agents_[static_cast<std::size_t>(node)].at; }  // of its door
  void kill_all() { launcher_->end_all(); }
  void settle() { launcher_->settle(); }  // all agents have ended, or were killed

 private:
  struct AgentEnd {
    ChannelPtr joining;  // until it is linked elsewhere in the tree
    Address at;          // of its door
    std::int64_t clock_offset_ns = 0;
    bool joined = false, linked = false;
    bool lost_before = false;  // the head
  };
  Result<std::vector<std::uint32_t>> addresses_for(const std::string& host) const;
  void on_guest(const Visitor& visitor, ChannelPtr channel);
  void on_joining_frame(int node, ControlKind kind, Bytes payload);
  void on_joining_closed(int node);
  void build_tree();
  void build_tree_of_those_here();
  void give_place(int node);
  void on_message(NodeId from, ControlKind kind, Bytes payload);

  os::EventLoop& loop_;
  std::vector<std::string> hosts_;
  LaunchOptions options_;
  TreeSettings settings_;
  Handlers handlers_;
  std::unique_ptr<Launcher> launcher_;
  HeadSeat seat_;
  ControlDoor door_;
  std::vector<AgentEnd> agents_;
  os::EventLoop::TimerId waiting_ = 0;  // until when agents may come back
  std::unique_ptr<TreeNode> tree_;  // null until all have joined
};

}  // namespace hf::daemon
