#include "engine/unasked.hpp"

#include <gtest/gtest.h>

#include "engine/log_ahead.hpp"

namespace hf::engine {
namespace {

int followed_of(Unasked& unasked, int announcements, bool thrown_away) {
  int followed = 0;
  for (int i = 0; i < announcements; ++i) {
    const bool follows = unasked.may_follow() && unasked.may_follow();  // an announcement that does not leave at once is tried again
    unasked.on_announced();
    if (!follows) continue;
    ++followed;
    if (thrown_away) unasked.on_thrown_away();
  }
  return followed;
}

TEST(Unasked, FollowsEveryAnnouncementOfAReceiverThatIsThere) {
  Unasked unasked;
  EXPECT_EQ(followed_of(unasked, 1000, false), 1000);
}

TEST(Unasked, FollowsOneIn64OfAReceiverThatNeverIs) {
  Unasked unasked;
  followed_of(unasked, 2 + 4 + 8 + 16 + 32 + 64, true);
  EXPECT_EQ(followed_of(unasked, 6400, true), 100);
}

TEST(Unasked, ForgetsWhenPiecesAreTakenAgain) {
  Unasked unasked;
  followed_of(unasked, 1000, true);
  followed_of(unasked, 2 * 64, false);
  EXPECT_EQ(followed_of(unasked, 2, true), 1) << "pauses begin with one";
}

TEST(LogAhead, CopiesInStepsAcrossPlaces) {
  std::vector<std::byte> from(1000), first(300), second(1), third(699);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7);
  std::vector<MutableBytes> places{first, second, third};
  LogAhead log(places, from.data());
  for (std::uint64_t step : {299, 1, 2, 600}) {
    EXPECT_FALSE(log.is_whole());
    log.copy(step);
  }
  log.copy(1000);
  EXPECT_TRUE(log.is_whole());
  std::vector<std::byte> all = first;
  all.insert(all.end(), second.begin(), second.end());
  all.insert(all.end(), third.begin(), third.end());
  EXPECT_EQ(all, from);
}

}  // namespace
}  // namespace hf::engine
