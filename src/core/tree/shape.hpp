// The shape of the agents' tree, a function of the number of agents, the fan-out and the set of the dead alone: whoever
// knows the same deaths sees the same tree. docs/tree.md says why it heals as it does. Pure.
//
// Places are numbered as in a heap: the head has place 0, agent i place i + 1, the children of place p are p * fan_out + 1
// to p * fan_out + fan_out. A dead agent's place goes to the next living agent of its own subtree in pre-order, whose place
// goes to the next one below it, and so on. So nobody has more than fan_out children, and nobody stands deeper than without
// deaths.
#pragma once
#include <cstdint>
#include <vector>

#include "base/ids.hpp"

namespace hf::core::tree {

class Shape {
 public:
  Shape(int agents, int fan_out);

  int agents() const { return static_cast<int>(alive_.size()) - 1; }
  int fan_out() const { return fan_out_; }
  int living() const { return living_[0] - 1; }  // without the head
  bool is_alive(NodeId node) const { return alive_[place(node)]; }
  void on_death(NodeId agent);  // a living one

  // All for living agents or the head only.
  NodeId parent(NodeId agent) const;
  std::vector<NodeId> children(NodeId node) const;  // at most fan_out, by place
  // The child of `from` under which `to` stands, or `to` itself; head_node: `to` does not stand under `from`.
  NodeId next_hop(NodeId from, NodeId to) const;
  std::vector<NodeId> path_to_head(NodeId agent) const;  // parent, its parent, ..., head
  bool is_above(NodeId ancestor, NodeId agent) const;

 private:
  using Place = std::uint32_t;
  static Place place(NodeId node) { return static_cast<Place>(node.value + 1); }
  static NodeId node_of(Place p) { return NodeId(static_cast<std::int32_t>(p) - 1); }
  Place up(Place p) const { return (p - 1) / fan_out(); }
  Place first_below(Place p) const { return p * static_cast<Place>(fan_out_) + 1; }

  // A place on the way down from the head, and how many agents of its subtree stand above it.
  struct Stand {
    Place place = 0;
    int taken = 0;
  };
  // The children of a stand's place; `each` gets Stand and the number of living in its subtree.
  template <class Each>
  void below(Stand stand, Each each) const;
  Stand stand_of(Place original) const;
  NodeId occupant(Stand stand) const;  // which there must be

  int fan_out_;
  std::vector<bool> alive_;
  std::vector<std::int32_t> living_;  // by place: living agents of its subtree, itself counted
};

}  // namespace hf::core::tree
