// An agent's way to its head: it joins there, is given its place in the tree of agents, and from then on speaks through its neighbours.
// Its door lets other agents in: neighbours in the tree, and those whose events it holds.
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
    std::function<void(int agent, ChannelPtr)> on_events_guest;
    std::function<void(const std::string& line)> on_stranger;
  };
  HeadLink(os::EventLoop& loop, const AgentTicket& ticket, Handlers handlers);
  ~HeadLink();
  HeadLink(const HeadLink&) = delete;
  Result<> connect();  // waits
  std::uint32_t address() const { return address_; }  // of this node, for others: the one that the head sees
  std::uint16_t door_port() const { return door_.port(); }

  void send(ControlKind kind, Bytes body, Bytes tail = {});
  // From the first message of the head on.
  void on_started() { tree_->on_started(); }
  void on_ending() { tree_->on_ending(); }
  void hold(std::set<NodeId> nodes) { tree_->hold(std::move(nodes)); }  // fault injection
  bool all_sent() const { return tree_->all_sent(); }

 private:
  void on_guest(const Visitor& visitor, ChannelPtr channel);
  void on_place(Bytes payload);
  void link(NodeId parent, Address at);
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
  std::vector<std::pair<NodeId, ChannelPtr>> early_;  // neighbours that have theirs already
  std::vector<std::pair<ControlKind, std::vector<std::byte>>> unsent_;
  bool gone_ = false;
};

}  // namespace hf::daemon
