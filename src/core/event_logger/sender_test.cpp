#include "core/event_logger/sender.hpp"

#include <gtest/gtest.h>

namespace hf::core::event_logger {
namespace {

constexpr Rank rank{3};

// More than goes in one piece was written, and then a test failed. A piece that is not the last one does not say so: a replay of that much alone
// would wait for what comes before the test.
TEST(Sender, AFailedTestGoesWithTheEventsBeforeIt) {
  Sender sender(4 << 20);
  const Extent found{300 << 10, TestClock{7}}, written{900 << 10, TestClock{20}};
  sender.add(rank, Term{1}, found);
  sender.on_connected(Generation{1});
  sender.on_published(rank, written);
  Sender::Append append;
  ASSERT_TRUE(sender.poll_append(append));
  EXPECT_EQ(append.position, found.end);
  EXPECT_EQ(append.end, found.end);
  EXPECT_EQ(append.last_failed, TestClock{});
  ASSERT_TRUE(sender.on_stable(rank, Term{1}, {}));
  std::uint64_t at = 0;
  while (at < written.end) {
    ASSERT_TRUE(sender.poll_append(append));
    ASSERT_EQ(append.position, at);
    ASSERT_GT(append.end, at);
    at = append.end;
    EXPECT_EQ(append.promised, found);
    EXPECT_EQ(append.last_failed, at < found.end ? TestClock{} : at < written.end ? found.last_failed : written.last_failed) << at;
  }
  EXPECT_FALSE(sender.poll_append(append));
}

}  // namespace
}  // namespace hf::core::event_logger
