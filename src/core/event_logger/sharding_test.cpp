#include "core/event_logger/sharding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <queue>
#include <random>
#include <vector>

#include "base/test_seed.hpp"

namespace hf::core::event_logger {
namespace {

// Nodes, then event loggers, each on its own machine.
std::vector<HolderCandidate> agents(int nodes, int loggers) {
  std::vector<HolderCandidate> out;
  for (int i = 0; i < nodes + loggers; ++i) out.push_back({true, i >= nodes, i, 0});
  return out;
}

// As the head does it: one agent after the other, each with `ranks`.
std::vector<int> shard(std::vector<HolderCandidate>& all, const std::vector<int>& ranks, Joined joined = Joined::ring) {
  std::vector<int> holders;
  for (std::size_t agent = 0; agent < all.size(); ++agent) {
    const int holder = choose_holder(all, static_cast<int>(agent), {}, joined);
    holders.push_back(holder);
    if (holder >= 0 && agent < ranks.size()) all[static_cast<std::size_t>(holder)].held += static_cast<std::uint64_t>(ranks[agent]);
  }
  return holders;
}

std::uint64_t most_held(const std::vector<HolderCandidate>& all) {
  std::uint64_t most = 0;
  for (const HolderCandidate& one : all) most = std::max(most, one.held);
  return most;
}

TEST(Sharding, WithoutEventLoggersTheNextNode) {
  auto all = agents(3, 0);
  EXPECT_EQ(shard(all, {2, 2, 2}), (std::vector<int>{1, 2, 0}));
  all[1].usable = false;
  EXPECT_EQ(choose_holder(all, 0, {}), 2);
  all[2].usable = false;
  EXPECT_EQ(choose_holder(all, 0, {}), -1);
}

TEST(Sharding, OnAnotherMachineIfThereIsOne) {
  auto all = agents(4, 0);
  all[1].machine = all[0].machine;
  EXPECT_EQ(choose_holder(all, 0, {}), 2);
  EXPECT_EQ(choose_holder(all, 0, {2, 3}), 1);
  auto with = agents(2, 2);
  with[2].machine = 0;
  with[3].held = 100;
  EXPECT_EQ(choose_holder(with, 0, {}), 3);
  EXPECT_EQ(choose_holder(with, 1, {}), 2);
}

TEST(Sharding, EventLoggersHoldAsManyRanksEach) {
  for (int loggers : {1, 2, 3, 4}) {
    auto all = agents(12, loggers);
    shard(all, std::vector<int>(12, 5));
    for (int i = 0; i < loggers; ++i) EXPECT_EQ(all[static_cast<std::size_t>(12 + i)].held, 60u / static_cast<unsigned>(loggers));
    EXPECT_EQ(most_held(all), 60u / static_cast<unsigned>(loggers));
  }
}

TEST(Sharding, NodesOfDifferentSizes) {
  auto all = agents(4, 2);
  shard(all, {8, 2, 2, 4});
  EXPECT_EQ(most_held(all), 8u);
}

TEST(Sharding, ALostLoggersShardGoesToTheOthers) {
  auto all = agents(6, 3);
  const auto before = shard(all, std::vector<int>(6, 1));
  all[7].usable = false;
  all[7].held = 0;
  for (int agent = 0; agent < 6; ++agent) {
    if (before[static_cast<std::size_t>(agent)] != 7) continue;
    const int holder = choose_holder(all, agent, {7});
    EXPECT_TRUE(holder == 6 || holder == 8);
    ++all[static_cast<std::size_t>(holder)].held;
  }
  EXPECT_EQ(all[6].held, 3u);
  EXPECT_EQ(all[8].held, 3u);
}

TEST(Sharding, NodesWhenNoEventLoggerIsLeft) {
  auto all = agents(3, 2);
  all[3].usable = all[4].usable = false;
  EXPECT_EQ(choose_holder(all, 2, {}), 0);
  EXPECT_EQ(choose_holder(all, 0, {}), 1);
}

TEST(Sharding, WhoWasFullIsNotNamedAgain) {
  auto all = agents(3, 2);
  std::set<int> full;
  std::vector<int> named;
  for (int holder; (holder = choose_holder(all, 0, full)) >= 0 && named.size() < 10; full.insert(holder)) named.push_back(holder);
  EXPECT_EQ(named, (std::vector<int>{3, 4, 1, 2}));
}

TEST(Sharding, EventLoggersAreARing) {
  auto all = agents(4, 3);
  EXPECT_EQ(choose_holder(all, 4, {}), 5);
  EXPECT_EQ(choose_holder(all, 5, {}), 6);
  EXPECT_EQ(choose_holder(all, 6, {}), 4);
  all[5].usable = false;
  EXPECT_EQ(choose_holder(all, 4, {}), 6);
  all[6].usable = false;
  EXPECT_EQ(choose_holder(all, 4, {}), -1);
}

// Whoever is lost, and for whomever which event loggers are full: what is told along these connections reaches every agent that lives.
TEST(Sharding, JoinsAllThatLive) {
  constexpr int nodes = 4, loggers = 2, n = nodes + loggers;
  for (unsigned lost = 0; lost < 1u << n; ++lost) {
    for (unsigned full = 0; full < 1u << nodes; ++full) {
      auto all = agents(nodes, loggers);
      for (int i = 0; i < n; ++i) all[static_cast<std::size_t>(i)].usable = (lost >> i & 1) == 0;
      std::vector<std::vector<int>> joined(n);
      int first = -1;
      for (int i = n; i-- > 0;) {
        if (!all[static_cast<std::size_t>(i)].usable) continue;
        first = i;
        const bool is_full = i < nodes && (full >> i & 1) != 0;
        const int holder = choose_holder(all, i, is_full ? std::set<int>{nodes, nodes + 1} : std::set<int>{});
        if (holder < 0) continue;
        joined[static_cast<std::size_t>(i)].push_back(holder);
        joined[static_cast<std::size_t>(holder)].push_back(i);
      }
      if (first < 0 || first >= nodes) continue;  // no node is left
      std::set<int> reached{first};
      std::queue<int> next;
      for (next.push(first); !next.empty(); next.pop()) {
        for (int other : joined[static_cast<std::size_t>(next.front())]) {
          if (reached.insert(other).second) next.push(other);
        }
      }
      for (int i = 0; i < nodes; ++i) {
        const bool lives = all[static_cast<std::size_t>(i)].usable;
        EXPECT_TRUE(reached.contains(i) || !lives) << "node " << i << ", lost " << lost << ", full " << full;
      }
    }
  }
}

// How far it is from agent 0 to those that it reaches, along who holds for whom, either way; -1: not at all.
std::vector<int> distances(const std::vector<HolderCandidate>& all, int from) {
  std::vector<std::vector<int>> joined(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int holder = all[i].usable ? choose_holder(all, static_cast<int>(i), {}, Joined::tree) : -1;
    if (holder < 0) continue;
    joined[i].push_back(holder);
    joined[static_cast<std::size_t>(holder)].push_back(static_cast<int>(i));
  }
  std::vector<int> found(all.size(), -1);
  std::queue<int> next;
  found[static_cast<std::size_t>(from)] = 0;
  for (next.push(from); !next.empty(); next.pop()) {
    for (int other : joined[static_cast<std::size_t>(next.front())]) {
      if (found[static_cast<std::size_t>(other)] >= 0) continue;
      found[static_cast<std::size_t>(other)] = found[static_cast<std::size_t>(next.front())] + 1;
      next.push(other);
    }
  }
  return found;
}

TEST(Sharding, ManyNodesAreATree) {
  auto all = agents(1000, 0);
  EXPECT_LE(std::ranges::max(distances(all, 0)), 9);
  shard(all, std::vector<int>(1000, 1), Joined::tree);
  EXPECT_LE(most_held(all), 3u);  // the one that holds those of the root has two more
  auto few = agents(15, 0);
  EXPECT_EQ(choose_holder(few, 14, {}, Joined::tree), 0);
  EXPECT_EQ(choose_holder(few, 6, {}, Joined::tree), 7);
  EXPECT_EQ(choose_holder(all, 14, {}), 15);
}

TEST(Sharding, ManyNodesOnAnotherMachine) {
  auto all = agents(32, 0);
  for (int i = 0; i < 32; ++i) all[static_cast<std::size_t>(i)].machine = i / 16;
  EXPECT_EQ(choose_holder(all, 31, {}, Joined::tree), 15);
  EXPECT_EQ(choose_holder(all, 20, {}, Joined::tree), 9);
  EXPECT_EQ(choose_holder(all, 12, {}, Joined::tree), 16);  // nobody above it is on another one
  EXPECT_EQ(choose_holder(all, 20, {9}, Joined::tree), 4);
  for (auto& one : all) one.machine = 0;
  EXPECT_EQ(choose_holder(all, 20, {}, Joined::tree), 9);  // there is no other one
}

TEST(Sharding, ManyNodesStayJoined) {
  std::mt19937 random(static_cast<std::mt19937::result_type>(test_seed()));
  for (int run = 0; run < 300; ++run) {
    auto all = agents(16 + static_cast<int>(random() % 200), 0);
    const unsigned lost_in_ten = random() % 10;
    for (auto& one : all) one.usable = random() % 10 >= lost_in_ten;
    const auto first = std::ranges::find(all, true, &HolderCandidate::usable);
    if (first == all.end()) continue;
    const auto found = distances(all, static_cast<int>(first - all.begin()));
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(found[i] >= 0, all[i].usable) << "agent " << i << ", seed " << test_seed();
  }
}

}  // namespace
}  // namespace hf::core::event_logger
