#include "core/tree/shape.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace hf::core::tree {

Shape::Shape(int agents, int fan_out)
    : fan_out_(fan_out), alive_(static_cast<std::size_t>(agents) + 1, true), living_(static_cast<std::size_t>(agents) + 1, 1) {
  HF_CHECK(agents >= 1 && fan_out >= 2);
  for (Place p = static_cast<Place>(agents); p > 0; --p) living_[up(p)] += living_[p];
}

void Shape::on_death(NodeId agent) {
  HF_CHECK(agent != head_node && is_alive(agent));
  Place p = place(agent);
  alive_[p] = false;
  for (;; p = up(p)) {
    --living_[p];
    if (p == 0) return;
  }
}

// The first `taken` + 1 of a place's subtree, in pre-order, stand in this place and above it: those of them that are not
// its own agent have been taken from below it, from the first child's subtree as long as it had any, then from the next.
template <class Each>
void Shape::below(Stand stand, Each each) const {
  int taken = stand.taken + 1 - (alive_[stand.place] ? 1 : 0);
  Place first = first_below(stand.place);
  Place end = std::min<Place>(first + static_cast<Place>(fan_out_), static_cast<Place>(alive_.size()));
  for (Place p = first; p < end; ++p) {
    int from_here = std::min(taken, living_[p]);
    taken -= from_here;
    if (!each(Stand{p, from_here}, living_[p])) return;
  }
}

Shape::Stand Shape::stand_of(Place original) const {
  // The way down to where it stood at first, and how many living ones stand before it in pre-order of each subtree on it.
  std::vector<Place> way{original};
  while (way.back() != 0) way.push_back(up(way.back()));
  std::vector<int> before(way.size(), 0);
  for (std::size_t i = 1; i < way.size(); ++i) {
    before[i] = before[i - 1] + (alive_[way[i]] ? 1 : 0);
    for (Place p = first_below(way[i]); p < way[i - 1]; ++p) before[i] += living_[p];
  }
  Stand stand;
  for (std::size_t i = way.size() - 1;; --i) {
    if (before[i] == stand.taken) return stand;
    HF_CHECK(i > 0);
    below(stand, [&](Stand child, int) {
      if (child.place != way[i - 1]) return true;
      stand = child;
      return false;
    });
  }
}

NodeId Shape::occupant(Stand stand) const {
  int index = stand.taken;
  for (Place p = stand.place;;) {
    if (alive_[p] && index-- == 0) return node_of(p);
    Place child = first_below(p);
    while (index >= living_[child]) index -= living_[child++];
    p = child;
  }
}

NodeId Shape::parent(NodeId agent) const {
  Place at = stand_of(place(agent)).place;
  HF_CHECK(at != 0);
  // The stand of the place above: down from the head along its own way.
  std::vector<Place> way{up(at)};
  while (way.back() != 0) way.push_back(up(way.back()));
  Stand stand;
  for (std::size_t i = way.size() - 1; i > 0; --i) {
    below(stand, [&](Stand child, int) {
      if (child.place != way[i - 1]) return true;
      stand = child;
      return false;
    });
  }
  return occupant(stand);
}

std::vector<NodeId> Shape::children(NodeId node) const {
  std::vector<NodeId> out;
  below(stand_of(place(node)), [&](Stand child, int living) {
    if (child.taken < living) out.push_back(occupant(child));
    return true;
  });
  return out;
}

NodeId Shape::next_hop(NodeId from, NodeId to) const {
  for (NodeId hop = to; hop != head_node;) {
    NodeId above = parent(hop);
    if (above == from) return hop;
    hop = above;
  }
  return head_node;
}

std::vector<NodeId> Shape::path_to_head(NodeId agent) const {
  std::vector<NodeId> out;
  for (NodeId at = agent; at != head_node;) out.push_back(at = parent(at));
  return out;
}

bool Shape::is_above(NodeId ancestor, NodeId agent) const {
  return agent != head_node && next_hop(ancestor, agent) != head_node;
}

}  // namespace hf::core::tree
