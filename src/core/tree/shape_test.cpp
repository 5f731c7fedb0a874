#include "core/tree/shape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "base/test_seed.hpp"

namespace hf::core::tree {
namespace {

std::vector<int> numbers(const std::vector<NodeId>& nodes) {
  std::vector<int> out;
  for (NodeId node : nodes) out.push_back(node.value);
  return out;
}
using Numbers = std::vector<int>;

TEST(Shape, IsAHeapUnderTheHead) {
  Shape shape(10, 3);
  EXPECT_EQ(numbers(shape.children(head_node)), (Numbers{0, 1, 2}));
  EXPECT_EQ(numbers(shape.children(NodeId(0))), (Numbers{3, 4, 5}));
  EXPECT_EQ(numbers(shape.children(NodeId(2))), (Numbers{9}));
  EXPECT_TRUE(shape.children(NodeId(3)).empty());
  EXPECT_EQ(shape.parent(NodeId(9)), NodeId(2));
  EXPECT_EQ(shape.parent(NodeId(2)), head_node);
  EXPECT_EQ(shape.next_hop(head_node, NodeId(9)), NodeId(2));
  EXPECT_EQ(shape.next_hop(NodeId(2), NodeId(9)), NodeId(9));
  EXPECT_EQ(shape.next_hop(NodeId(1), NodeId(9)), head_node) << "9 does not stand under 1";
  EXPECT_EQ(numbers(shape.path_to_head(NodeId(9))), (Numbers{2, -1}));
}

// docs/tree.md tells this example.
TEST(Shape, ADeadAgentsPlaceGoesToItsFirstChild) {
  Shape shape(22, 3);
  shape.on_death(NodeId(0));
  EXPECT_EQ(numbers(shape.children(head_node)), (Numbers{3, 1, 2}));
  EXPECT_EQ(numbers(shape.children(NodeId(3))), (Numbers{12, 4, 5})) << "3 stands in the place of 0, 12 in that of 3";
  EXPECT_EQ(numbers(shape.children(NodeId(12))), (Numbers{13, 14}));
  EXPECT_EQ(shape.parent(NodeId(4)), NodeId(3));
  EXPECT_EQ(numbers(shape.children(NodeId(1))), (Numbers{6, 7, 8})) << "nobody else has moved";
}

TEST(Shape, ALeafsDeathMovesNobody) {
  Shape shape(10, 3);
  shape.on_death(NodeId(4));
  EXPECT_EQ(numbers(shape.children(NodeId(0))), (Numbers{3, 5}));
  EXPECT_EQ(shape.living(), 9);
}

struct Dead {
  std::vector<NodeId> order;
  std::set<NodeId> set;
};
Dead draw_dead(std::mt19937_64& draw, int agents, int count) {
  Dead dead;
  while (static_cast<int>(dead.order.size()) < count) {
    NodeId node{static_cast<std::int32_t>(draw() % static_cast<std::uint64_t>(agents))};
    if (dead.set.insert(node).second) dead.order.push_back(node);
  }
  return dead;
}

TEST(Shape, EveryHealedTreeHoldsAllTheLivingOnceWithBoundedFanOutAndDepth) {
  std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  for (int round = 0; round < 60; ++round) {
    int agents = 1 + static_cast<int>(draw() % 200), fan_out = 2 + static_cast<int>(draw() % 5);
    Dead dead = draw_dead(draw, agents, static_cast<int>(draw() % static_cast<std::uint64_t>(agents)));
    Shape whole(agents, fan_out), shape(agents, fan_out), other(agents, fan_out);
    for (NodeId node : dead.order) shape.on_death(node);
    for (NodeId node : dead.set) other.on_death(node);
    std::set<NodeId> seen;
    std::vector<NodeId> open{head_node};
    while (!open.empty()) {
      NodeId node = open.back();
      open.pop_back();
      auto children = shape.children(node);
      EXPECT_EQ(children, other.children(node)) << "the order of the deaths changes nothing";
      EXPECT_LE(static_cast<int>(children.size()), fan_out);
      for (NodeId child : children) {
        EXPECT_TRUE(seen.insert(child).second) << child.value << " stands twice";
        EXPECT_FALSE(dead.set.contains(child));
        EXPECT_EQ(shape.parent(child), node);
        EXPECT_EQ(shape.next_hop(node, child), child);
        EXPECT_LE(shape.path_to_head(child).size(), whole.path_to_head(child).size()) << child.value << " stands deeper than at first";
        open.push_back(child);
      }
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(agents) - dead.set.size());
    EXPECT_EQ(shape.living(), static_cast<int>(seen.size()));
  }
}

// Few have to turn to another parent: the children of each place on one way down.
TEST(Shape, OneDeathMovesAtMostFanOutAgentsALevel) {
  std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  Shape shape(1024, 4);
  for (int death = 0; death < 100; ++death) {
    std::vector<NodeId> before(1024);
    auto living = [&](int i) { return shape.is_alive(NodeId(i)); };
    for (int i = 0; i < 1024; ++i) before[static_cast<std::size_t>(i)] = living(i) ? shape.parent(NodeId(i)) : head_node;
    NodeId victim;
    do victim = NodeId(static_cast<std::int32_t>(draw() % 1024));
    while (!shape.is_alive(victim));
    shape.on_death(victim);
    int moved = 0;
    for (int i = 0; i < 1024; ++i) moved += living(i) && shape.parent(NodeId(i)) != before[static_cast<std::size_t>(i)];
    EXPECT_LE(moved, 4 * 5);
  }
}

// A message that two agents with different trees pass on cannot go in a circle: who is above another in any tree comes before
// it in one order for all.
TEST(Shape, NoTwoTreesPutTwoAgentsTheOtherWayRound) {
  std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  std::set<std::pair<NodeId, NodeId>> above;
  for (int round = 0; round < 30; ++round) {
    Shape shape(40, 3);
    for (NodeId node : draw_dead(draw, 40, static_cast<int>(draw() % 20)).order) shape.on_death(node);
    for (int i = 0; i < 40; ++i) {
      if (!shape.is_alive(NodeId(i))) continue;
      for (NodeId ancestor : shape.path_to_head(NodeId(i))) above.insert({ancestor, NodeId(i)});
    }
  }
  for (const auto& [ancestor, agent] : above) EXPECT_FALSE(above.contains({agent, ancestor})) << ancestor.value << " " << agent.value;
}

}  // namespace
}  // namespace hf::core::tree
