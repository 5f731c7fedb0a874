// Messages along the agents' tree, at one agent or at the head: from an agent to the head, from the head to one agent or to
// all; once each, and in order for each pair of source and destination, also across a healing. docs/tree.md. Pure.
//
// Owner: whoever joins the cores. The shape is the membership's and outlives this object.
// Drive: on_items() only with items of frames that the membership let pass. After the shape has changed: on_view(), before any other
// call. After every call: poll_transmit() and poll_delivery() until they return false; next_deadline().
// Frames that the membership wants sent for the same call go first: who passes an item on must see the tree that its
// sender saw.
#pragma once
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "core/tree/in_order.hpp"
#include "core/tree/multicast.hpp"

namespace hf::core::tree {

struct Delivery {
  NodeId source{};
  std::vector<std::byte> payload;
};

class Tree {
 public:
  Tree(const TreeOptions& options, NodeId self, const Shape& shape);
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  // False: the window is full; offer it again when acknowledgements have come.
  bool post_up(Instant now, Bytes payload);               // an agent, to the head
  bool post_down(Instant now, NodeId to, Bytes payload);  // the head, to a living agent
  bool post_all(Instant now, Bytes payload);              // the head

  void on_items(Instant now, NodeId from, std::span<const wire::ItemView> items);
  void on_view(Instant now, ViewVersion version);
  void on_timeout(Instant now);

  std::optional<Instant> next_deadline() const;
  bool poll_transmit(Instant now, Transmit& out);
  bool poll_delivery(Delivery& out);
  bool has_unsent() const { return !out_.empty(); }
  // Everything posted here has been acknowledged, or is for the dead.
  bool all_taken() const { return up_.kept.empty() && unacknowledged_.empty() && multicast_.all_have_all(); }

 private:
  struct Sending {  // one stream whose only receiver is the head or one agent
    Retained kept;
    std::vector<NodeId> way;  // between the agent and the head, when it was sent last
    Timer resend;
  };
  // ---- tree.cpp
  void on_item(Instant now, NodeId from, const wire::ItemView& item);
  void on_up(Instant now, const wire::ItemView& item);
  void on_down(Instant now, const wire::ItemView& item);
  void pass_on(const wire::ItemView& item);
  void deliver_ready(Instant now);
  bool deliver_one(Instant now);

  // ---- tree_sending.cpp: what is sent from here, until it is acknowledged
  bool post(Instant now, NodeId agent, Sending& sending, Message message);
  void send(Instant now, NodeId agent, Sending& sending, ControlSequence from);
  void send_again(Instant now, NodeId agent, Sending& sending);
  void on_taken(Instant now, NodeId agent, Sending& sending, ControlSequence before);
  void send_acknowledgements();
  void resend_changed_way(Instant now, NodeId agent, Sending& sending);
  std::vector<wire::OrderNote> order_notes() const;
  NodeId hop_to(NodeId agent) const;  // towards the agent from the head, or from an agent towards the head

  TreeOptions options_;
  NodeId self_;
  const Shape& shape_;
  ViewVersion version_{};
  Outgoing out_;
  Multicast multicast_;
  Sending up_;                      // an agent's to the head
  InOrder down_in_;                 // of an agent
  std::vector<Sending> down_;       // the head's, by agent
  std::set<NodeId> unacknowledged_; // agents whose down_ is not empty
  std::vector<InOrder> up_in_;      // of the head, by agent
  std::set<NodeId> to_acknowledge_; // streams of which something came
  Timer acknowledge_;               // when to acknowledge them
  std::deque<Delivery> deliveries_;
};

}  // namespace hf::core::tree
