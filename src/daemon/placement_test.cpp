#include "daemon/placement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace hf::daemon {
namespace {

const std::vector<Host> two_and_three = {{"a", 2}, {"b", 3}};
constexpr MapBy by_slot{}, by_node{MapBy::Kind::node};

MapBy per_node(int count) {
  return {MapBy::Kind::per_node, count};
}

std::vector<Host> unlimited(int count) {
  return std::vector<Host>(static_cast<std::size_t>(count), Host{"here", slots_unlimited});
}

std::string map(const std::vector<Host>& hosts, int ranks, MapBy by, bool oversubscribe = false, WithoutRanks without = {}) {
  auto placed = place(hosts, ranks, by, oversubscribe, without);
  if (!placed) return placed.error().text;
  return fmt::format("{} of {}: {}", placed->node_count, placed->hosts.size(), fmt::join(placed->node_of_rank, " "));
}

TEST(Placement, BySlotFillsOneHostBeforeTheNext) {
  EXPECT_EQ(map(two_and_three, 4, by_slot), "2 of 2: 0 0 1 1");
  EXPECT_EQ(map(two_and_three, 2, by_slot), "1 of 1: 0 0");
}

TEST(Placement, ByNodeTakesTurns) {
  EXPECT_EQ(map(two_and_three, 5, by_node), "2 of 2: 0 1 0 1 1");
}

TEST(Placement, PerNode) {
  EXPECT_EQ(map(two_and_three, 4, per_node(2)), "2 of 2: 0 0 1 1");
  EXPECT_EQ(map({{"a"}, {"b"}}, 5, per_node(3)), "2 of 2: 0 0 0 1 1");
  EXPECT_EQ(map(two_and_three, 4, per_node(3)), "3 ranks are to be on each node, but a has 2 slots: say a:3, or --oversubscribe");
  EXPECT_EQ(map(two_and_three, 4, per_node(1)), "4 ranks, but 1 on each of 2 nodes are 2: more nodes are needed, or --oversubscribe");
  EXPECT_EQ(map(two_and_three, 6, per_node(3), true), "2 of 2: 0 0 0 1 1 1");
}

TEST(Placement, RanksThatAreNotSaidFillTheSlots) {
  EXPECT_EQ(ranks_that_fill(two_and_three, by_slot), 5);
  EXPECT_EQ(ranks_that_fill(two_and_three, per_node(2)), 4);
  EXPECT_EQ(ranks_that_fill({{"a"}, {"b"}}, by_node), 2);
  EXPECT_EQ(ranks_that_fill(two_and_three, by_slot, {1, 0}), 2);
  EXPECT_EQ(ranks_that_fill(two_and_three, by_slot, {1, 1}), 1);
  EXPECT_EQ(ranks_that_fill(unlimited(3), by_slot), 1);
  EXPECT_EQ(ranks_that_fill(unlimited(3), per_node(2)), 6);
}

TEST(Placement, MoreRanksThanSlots) {
  EXPECT_EQ(map(two_and_three, 6, by_slot),
            "6 ranks, but only 5 slots (a 2, b 3): give a host more, as in a:3, or let ranks share cores with --oversubscribe");
  EXPECT_EQ(map({{"a"}}, 2, by_node),
            "2 ranks, but only 1 slot (a 1): give a host more, as in a:2, or let ranks share cores with --oversubscribe");
  EXPECT_EQ(map(two_and_three, 8, by_slot, true), "2 of 2: 0 0 0 0 1 1 1 1");
  EXPECT_EQ(map(two_and_three, 8, by_node, true), "2 of 2: 0 1 0 1 1 0 1 0");
}

TEST(Placement, NodesOfThisMachineShareEvenly) {
  EXPECT_EQ(map(unlimited(2), 5, by_slot), "2 of 2: 0 0 0 1 1");
  EXPECT_EQ(map(unlimited(3), 2, by_slot), "3 of 3: 0 1");
  EXPECT_EQ(map(unlimited(2), 5, by_node), "2 of 2: 0 1 0 1 0");
  EXPECT_EQ(map(unlimited(2), 4, per_node(1)), "4 ranks, but 1 on each of 2 nodes are 2: more nodes are needed, or --oversubscribe");
}

TEST(Placement, HostsWithoutRanksAreNoNodes) {
  EXPECT_EQ(map({{"a", 2}, {"b", 2}, {"c", 2}}, 3, by_slot), "2 of 2: 0 0 1");
  EXPECT_EQ(map({{"a", 2}, {"b", 2}, {"c", 2}}, 2, by_node), "2 of 2: 0 1");
}

TEST(Placement, SparesAreTheHostsBehindThoseWithRanks) {
  const std::vector<Host> three = {{"a", 2}, {"b", 2}, {"c", 2}};
  EXPECT_EQ(map(three, 2, by_slot, false, {1}), "1 of 2: 0 0");
  EXPECT_EQ(place(three, 2, by_slot, false, {1})->hosts.back().name, "b");
  EXPECT_EQ(map(three, 4, by_node, false, {1}), "2 of 3: 0 1 0 1");
  EXPECT_EQ(map(three, 5, by_slot, false, {1}),
            "5 ranks, but only 4 slots (a 2, b 2): give a host more, as in a:3, or let ranks share cores with --oversubscribe");
  EXPECT_EQ(map(three, 1, by_slot, false, {3}), "3 hosts are not enough for ranks and 3 spare nodes");
  EXPECT_EQ(map(unlimited(3), 3, by_slot, false, {1}), "2 of 3: 0 0 1");
}

TEST(Placement, EventLoggersAreTheHostsBehindTheSpareOnes) {
  const std::vector<Host> five = {{"a", 2}, {"b", 2}, {"c", 2}, {"d", 2}, {"e", 2}};
  EXPECT_EQ(map(five, 4, by_slot, false, {1, 2}), "2 of 5: 0 0 1 1");
  EXPECT_EQ(map(five, 2, by_slot, false, {0, 2}), "1 of 3: 0 0");
  EXPECT_EQ(map(unlimited(5), 2, by_slot, false, {1, 2}), "2 of 5: 0 1");
  EXPECT_EQ(map(five, 1, by_slot, false, {1, 4}), "5 hosts are not enough for ranks, 1 spare node and 4 event loggers");
  EXPECT_EQ(map({{"a", 2}}, 1, by_slot, false, {0, 1}), "1 host is not enough for ranks and 1 event logger");
}

}  // namespace
}  // namespace hf::daemon
