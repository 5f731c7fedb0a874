#include "daemon/core_map.hpp"

#include <gtest/gtest.h>

namespace hf::daemon {
namespace {

// Two sockets of two cores of two hardware threads.
std::string bound(BindTo to, int index, int count, bool share = false) {
  auto map = CoreMap::synthetic("pack:2 core:2 pu:2");
  if (!map) return map.error().text;
  auto chosen = map->choose(to, index, count, share);
  return chosen ? map->describe(*chosen) : chosen.error().text;
}

TEST(CoreMap, CoreEach) {
  EXPECT_EQ(bound(BindTo::core, 0, 4), "core 0 of socket 0 (processors 0-1)");
  EXPECT_EQ(bound(BindTo::core, 3, 4), "core 3 of socket 1 (processors 6-7)");
}

TEST(CoreMap, NeighboursShareASocket) {
  EXPECT_EQ(bound(BindTo::socket, 0, 4), "cores 0-1 of socket 0 (processors 0-3)");
  EXPECT_EQ(bound(BindTo::socket, 1, 4), "cores 0-1 of socket 0 (processors 0-3)");
  EXPECT_EQ(bound(BindTo::socket, 2, 4), "cores 2-3 of socket 1 (processors 4-7)");
  EXPECT_EQ(bound(BindTo::socket, 0, 1), "cores 0-1 of socket 0 (processors 0-3)");
}

TEST(CoreMap, MoreRanksThanCores) {
  EXPECT_EQ(bound(BindTo::core, 4, 5), "5 ranks are to be bound to 4 cores: --bind-to none, or --oversubscribe to let ranks share them");
  EXPECT_EQ(bound(BindTo::core, 4, 5, true), "core 0 of socket 0 (processors 0-1)");
}

TEST(CoreMap, EventLoggersHaveTheLastCores) {
  auto map = CoreMap::synthetic("pack:2 core:2 pu:2");
  ASSERT_TRUE(map) << map.error().text;
  const auto two = map->divide(2, 2);
  ASSERT_TRUE(two);
  EXPECT_EQ(map->describe(two->event_loggers[0]), "core 2 of socket 1 (processors 4-5)");
  EXPECT_EQ(map->describe(two->event_loggers[1]), "core 3 of socket 1 (processors 6-7)");
  EXPECT_EQ(map->describe(two->others), "cores 0-1 of socket 0 (processors 0-3)");
  const auto one = map->divide(0, 1);
  ASSERT_TRUE(one);
  EXPECT_EQ(map->describe(one->others), "cores 0-2 of sockets 0-1 (processors 0-5)");
  EXPECT_FALSE(map->divide(3, 2));
  EXPECT_FALSE(map->divide(0, 4));  // something is left for agents
}

TEST(CoreMap, ThisMachine) {
  auto map = CoreMap::of_this_machine();
  ASSERT_TRUE(map) << map.error().text;
  cpu_set_t all = map->all(), mine;
  ASSERT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
  EXPECT_TRUE(CPU_EQUAL(&all, &mine));
}

}  // namespace
}  // namespace hf::daemon
