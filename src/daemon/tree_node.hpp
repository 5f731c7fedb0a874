// The head's, or an agent's, place in the tree of agents: joins the cores of membership and tree to connections and timers.
// Messages along the tree and who lives are theirs (docs/tree.md, docs/membership.md); here is how neighbours reach each other.
//
// A neighbour may be connected by several connections for a while, when both have dialled: what is sent takes the newest, what
// comes is taken from all. The last one's end is the neighbour's. An agent dials those below it, whose addresses it asks of the head, and
// of those above it the ones that it was told of; others above dial it.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/membership/membership.hpp"
#include "core/tree/tree.hpp"
#include "daemon/control_door.hpp"

namespace hf::daemon {

class TreeNode {
 public:
  using EndReason = core::membership::EndReason;
  struct Handlers {
    std::function<void(NodeId from, ControlKind kind, Bytes payload)> on_message;
    std::function<void(NodeId agent, std::uint32_t silent_ms)> on_dead;  // silent_ms: of the head; 0: its connection ended
    std::function<void(EndReason)> on_ended;                              // of an agent: it must end, with its ranks
    std::function<void(NodeId)> on_unreachable;                           // its address is wanted
  };
  TreeNode(os::EventLoop& loop, const JobKey& key, NodeId self, const TreeSettings& settings, Handlers handlers);
  ~TreeNode();
  TreeNode(const TreeNode&) = delete;

  void add_link(NodeId peer, ChannelPtr channel);  // which has proved itself
  void set_address(NodeId agent, Address at);

  // Messages that the tree has no room for now wait here, in order.
  void post_up(ControlKind kind, Bytes body, Bytes tail = {}) { post(NodeId{}, false, kind, body, tail); }
  void post_down(NodeId to, ControlKind kind, Bytes body, Bytes tail = {}) { post(to, false, kind, body, tail); }
  void post_all(ControlKind kind, Bytes body) { post(NodeId{}, true, kind, body, {}); }

  void on_started();  // all agents are in the tree
  void on_ending();   // agents leave; an agent whose parent has left ends
  void on_busy();     // Membership::on_busy; also from inside a handler
  void drop() { ended_ = true; }  // nothing more is told to the handlers
  void on_found_dead(NodeId agent);
  void on_not_reached(NodeId parent) { on_lost_link(parent); }
  void tell_children(ControlKind kind);  // outside of the streams
  // Fault injection: nothing is read from these or written to them; none: all are let go.
  void hold(std::set<NodeId> nodes);
  bool is_alive(NodeId agent) const { return membership_.shape().is_alive(agent); }
  const core::tree::Shape& shape() const { return membership_.shape(); }
  bool all_posted() const { return waiting_.empty(); }  // nothing waits for room in the tree
  bool all_sent() const;  // to the neighbours that are connected

 private:
  struct Neighbour {
    std::vector<ChannelPtr> links;  // the newest last
    std::deque<std::vector<std::byte>> waiting;  // frames, for the first one
    std::unique_ptr<ControlVisit> visit;
    std::optional<Address> at;
    bool asked = false;  // for its address
  };
  struct Waiting {
    NodeId to{};
    bool to_all = false;
    std::vector<std::byte> payload;
  };
  void post(NodeId to, bool to_all, ControlKind kind, Bytes body, Bytes tail);
  bool offer(const Waiting& message);
  void on_channel_frame(NodeId peer, ControlChannel& channel, ControlKind kind, Bytes payload);
  void on_channel_closed(NodeId peer, const ControlChannel* channel);
  void on_lost_link(NodeId peer);
  void send(core::tree::Transmit transmit);
  void reach(NodeId peer);
  void dial(NodeId peer, Neighbour& neighbour);
  void on_visit_over(NodeId peer, bool open);
  void drain();
  void drain_once();
  void look_at_hosts();
  void take_events();
  void offer_waiting();
  void arm();

  os::EventLoop& loop_;
  const JobKey& key_;
  NodeId self_;
  Handlers handlers_;
  int agents_;
  std::uint32_t epoch_;
  core::membership::Membership membership_;
  core::tree::Tree tree_;
  std::map<NodeId, Neighbour> neighbours_;
  std::deque<Waiting> waiting_;
  std::set<NodeId> held_;
  std::vector<std::unique_ptr<ControlVisit>> old_visits_;  // destroyed outside their own handlers
  os::EventLoop::TimerId timer_ = 0, cleaning_ = 0;
  std::optional<Instant> armed_;
  bool draining_ = false, again_ = false, started_ = false, ending_ = false, ended_ = false;
};

}  // namespace hf::daemon
