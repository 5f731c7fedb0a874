// The stream from the head to all agents, at one of them or at the head: what came is kept, and passed on to the children,
// until the head knows that all living agents have it; so a new child lacks nothing that its new parent does not have. Pure.
//
// all_taken travels up as a minimum over a subtree. It counts only in the tree of the version that it names: in the middle
// of a healing an agent may stand under neither the old nor the new parent, and nobody would have asked it.
#pragma once
#include <map>
#include <optional>

#include "core/tree/outgoing.hpp"
#include "core/tree/retained.hpp"
#include "core/tree/shape.hpp"
#include "core/tree/timer.hpp"

namespace hf::core::tree {

class Multicast {
 public:
  Multicast(const TreeOptions& options, NodeId self, const Shape& shape, Outgoing& out);

  bool post(Instant now, Message message);  // the head only; false: the window is full
  bool on_message(Instant now, const wire::ItemView& item);
  void on_taken(Instant now, NodeId from, const wire::TreeItem& item);
  void on_stable(Instant now, ControlSequence before);
  void on_view(Instant now, ViewVersion version);
  void on_timeout(Instant now);
  void next_deadline(std::optional<Instant>& soonest) const;

  // The first message that is not delivered here yet. The head delivers none to itself.
  const Message* undelivered() const;
  ControlSequence delivered() const { return delivered_; }
  void on_delivered(Instant now);
  bool all_have_all() const { return kept_.empty(); }

 private:
  struct Child {
    ControlSequence sent{};  // all before it have been sent
    Timer resend;
  };
  struct Taken {  // what a neighbour said last
    ViewVersion version{};
    ControlSequence own{}, below{};
  };
  void send(NodeId to, ControlSequence from, ControlSequence until);
  void send_new(Instant now);
  ControlSequence taken_below() const;
  void tell_up();
  void tell_stable();
  void settle(Instant now);

  const TreeOptions& options_;
  NodeId self_;
  const Shape& shape_;
  Outgoing& out_;
  ViewVersion version_{};
  Retained kept_;                // from the first that may not be everywhere
  ControlSequence delivered_{};  // all before it, to the application here
  std::map<NodeId, Child> children_;
  std::map<NodeId, Taken> taken_;  // of children, and of those that took us for their parent before we know of it
  Taken told_;                     // to the parent
  NodeId told_to_ = head_node;
  ControlSequence stable_told_{};
  Timer tell_;         // when to send all_taken (agents)
  Timer tell_stable_;  // when to send all_stable (the head)
};

}  // namespace hf::core::tree
