#include "segment/waiting.hpp"

#include <gtest/gtest.h>

namespace hf::segment {
namespace {

TEST(Waiting, GoesThroughAWord) {
  for (Rank whom : {Rank(0), Rank(1), Rank(4095), Rank(1 << 20), any_rank, several_ranks, no_rank}) {
    const Waiting waiting = waiting_of(waiting_word({whom, 123'456'789'012}));
    EXPECT_EQ(waiting.whom, whom);
    EXPECT_EQ(waiting.since_ms, 123'456'789'012);
  }
}

TEST(Waiting, IsNeverTheWordOfNone) {
  EXPECT_NE(waiting_word({no_rank, 0}), 0u);
}

TEST(Waiting, OfTwoIsForOneOrForSeveral) {
  EXPECT_EQ(both(Rank(3), Rank(3)), Rank(3));
  EXPECT_EQ(both(Rank(3), Rank(4)), several_ranks);
  EXPECT_EQ(both(any_rank, Rank(4)), several_ranks);
}

}  // namespace
}  // namespace hf::segment
