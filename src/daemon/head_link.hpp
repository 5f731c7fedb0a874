// An agent's way to its head: it joins there, is given its place in the tree of agents, and from then on speaks through its neighbours.
// Its door lets other agents in: neighbours in the tree, and those whose events it holds.
//
// Where another head may go on for a lost one (AgentTicket::head_returns_ms), the agent then leaves the tree and joins again, at the same
// address. What it says in between is dropped: it tells the new head how things stand.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/tree_node.hpp"

namespace hf::daemon {

class HeadLink {
 public:
  struct Handlers {
    std::function<void(ControlKind kind, Bytes payload)> on_message;
    std::function<void()> on_gone;  // of the head, or of this agent's part in the job: it must end, with its ranks
    std::function<void()> on_head_lost;    // for now
    std::function<void()> on_head_back;    // another one: from here on there is somebody to speak to
    std::function<void(int agent, ChannelPtr)> on_events_guest;
    std::function<void(const std::string& line)> on_stranger;
    std::function<void(NodeId agent)> on_dead;  // another one, for good
  };
  HeadLink(os::EventLoop& loop, const AgentTicket& ticket, Handlers handlers);
  ~HeadLink();
  HeadLink(const HeadLink&) = delete;
  Result<> connect();  // waits, some seconds at most
  std::uint32_t address() const { return address_; }  // of this node, for others: the one that the head sees
  std::uint16_t door_port() const { return door_.port(); }

  void send(ControlKind kind, Bytes body, Bytes tail = {});
  // From the first message of the head on.
  void on_started();
  void on_ending() {
    if (tree_) tree_->on_ending();
  }
  void on_busy() {
    if (tree_) tree_->on_busy();
  }
  void hold(std::set<NodeId> nodes) {  // fault injection
    if (tree_) tree_->hold(std::move(nodes));
  }
  bool all_sent() const { return !tree_ || tree_->all_sent(); }

 private:
  Result<> connect_once();
  void on_guest(const Visitor& visitor, ChannelPtr channel);
  void on_joining_frame(ControlKind kind, Bytes payload);
  void on_place(Bytes payload);
  void on_tree_ended(TreeNode::EndReason reason);
  void lose_head();
  void look_for_head();
  void on_head_not_reached();
  void link(NodeId parent, Address at);
  void on_parent_not_reached(NodeId parent);
  void on_linked(NodeId parent, Address at);
  void on_message(ControlKind kind, Bytes payload);
  void gone();

  os::EventLoop& loop_;
  const AgentTicket& ticket_;
  Handlers handlers_;
  NodeId self_;
  std::uint32_t address_ = 0, head_address_ = 0;
  ControlDoor door_;
  std::unique_ptr<ControlVisit> joining_, parent_;
  std::unique_ptr<TreeNode> tree_;  // null until this agent has its place
  std::uint32_t epoch_ = 0;         // of the tree
  struct Early {
    NodeId node{};
    std::uint32_t epoch = 0;
    ChannelPtr channel;
  };
  std::vector<Early> early_;  // neighbours that have their places already
  // What is given up goes outside of its own handlers.
  std::vector<std::unique_ptr<ControlVisit>> old_visits_;
  std::vector<std::unique_ptr<TreeNode>> old_trees_;
  os::EventLoop::TimerId cleaning_ = 0;
  bool started_ = false;
  bool headless_ = false;
  Instant headless_until_{};
  os::EventLoop::TimerId looking_ = 0;
  int refused_ = 0;  // times running
  std::vector<std::pair<ControlKind, std::vector<std::byte>>> unsent_;
  bool gone_ = false;
};

}  // namespace hf::daemon
