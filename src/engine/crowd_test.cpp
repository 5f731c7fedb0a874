#include "engine/crowd.hpp"

#include <gtest/gtest.h>

namespace hf::engine {
namespace {

constexpr std::int64_t ms = 1'000'000;

struct Rank {
  Crowd crowd;
  std::int64_t now = 0;
  int asked = 0;

  void yields(std::int64_t for_ns, int running) {
    const auto count = [&] {
      ++asked;
      return running;
    };
    crowd.on_yielded(now, now + for_ns, count, [] { return 4; });
    now += for_ns;
  }
  // Yields to others until it sleeps; for how long it does.
  std::int64_t time_asleep() {
    for (int i = 0; i < 10 && !crowd.sleeps(now); ++i) yields(3 * ms, 6);
    const std::int64_t from = now;
    while (crowd.sleeps(now)) now += ms;
    return now - from;
  }
};

TEST(Crowd, ShortYieldsAskNobody) {
  Rank rank;
  for (int i = 0; i < 1000; ++i) rank.yields(ms / 2, 6);
  EXPECT_EQ(rank.asked, 0);
  EXPECT_FALSE(rank.crowd.sleeps(rank.now));
}

TEST(Crowd, RanksThatComputeAreNoCrowd) {
  Rank rank;
  for (int i = 0; i < 1000; ++i) rank.yields(3 * ms, 4);
  EXPECT_FALSE(rank.crowd.sleeps(rank.now));
}

// An agent that had something to do for a moment.
TEST(Crowd, OneOtherNowAndThenIsNoCrowd) {
  Rank rank;
  for (int i = 0; i < 1000; ++i) rank.yields(3 * ms, i % 2 == 0 ? 4 : 5);
  EXPECT_FALSE(rank.crowd.sleeps(rank.now));
  for (int i = 0; i < 100; ++i) {
    rank.yields(3 * ms, 5);
    rank.now += Crowd::together_ns;
  }
  EXPECT_FALSE(rank.crowd.sleeps(rank.now));
}

// Others of another group of the scheduler get their share of the time, and not with each yield.
TEST(Crowd, AFewLongYieldsAmongManyAreNoCrowd) {
  Rank rank;
  for (int i = 0; i < 1000; ++i) {
    rank.yields(3 * ms, 6);
    for (int j = 0; j <= Crowd::between_max; ++j) rank.yields(1000, 6);
  }
  EXPECT_FALSE(rank.crowd.sleeps(rank.now));
}

TEST(Crowd, OthersThatStayAreOne) {
  Rank rank;
  rank.yields(3 * ms, 6);
  rank.yields(3 * ms, 6);
  EXPECT_FALSE(rank.crowd.sleeps(rank.now));
  rank.yields(3 * ms, 6);
  EXPECT_TRUE(rank.crowd.sleeps(rank.now));
}

TEST(Crowd, IsRememberedForAWhile) {
  Rank rank;
  EXPECT_FALSE(rank.crowd.was_here(rank.now));
  rank.time_asleep();
  EXPECT_TRUE(rank.crowd.was_here(rank.now));
  rank.now += Crowd::remembered_ns;
  EXPECT_FALSE(rank.crowd.was_here(rank.now));
}

TEST(Crowd, LooksAgainLessAndLessOften) {
  Rank rank;
  EXPECT_EQ(rank.time_asleep(), 50 * ms);
  EXPECT_EQ(rank.time_asleep(), 100 * ms);
  EXPECT_EQ(rank.time_asleep(), 200 * ms);
  for (int i = 0; i < 5; ++i) rank.time_asleep();
  EXPECT_EQ(rank.time_asleep(), 1000 * ms);
  rank.now += Crowd::together_ns;  // they had gone
  EXPECT_EQ(rank.time_asleep(), 50 * ms);
}

}  // namespace
}  // namespace hf::engine
