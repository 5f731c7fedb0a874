// Events and their replay: encoding, and what a damaged log is refused for.
#include "core/vprotocol/replay.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "core/vprotocol/test_events.hpp"

namespace hf::core::vprotocol {
namespace {

TEST(Events, EncodingIsThatOfThePage) {
  std::vector<std::byte> out;
  encode(out, {EventKind::match, 3, 17});
  EXPECT_EQ(out.size(), 16u);
  std::vector<std::int32_t> indices = {4, 0, 2};
  EventHead delivery{EventKind::delivery, 3, 9};
  encode(out, delivery, indices);
  EXPECT_EQ(encoded_bytes(delivery), 32u);
  ASSERT_EQ(out.size(), 48u);
  const unsigned char expected[48] = {1, 0, 0, 0, 3, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0, 0,  //
                                      2, 0, 0, 0, 3, 0, 0, 0, 9,  0, 0, 0, 0, 0, 0, 0,  //
                                      4, 0, 0, 0, 0, 0, 0, 0, 2,  0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(std::memcmp(out.data(), expected, sizeof(expected)), 0);
  EXPECT_EQ(encoded_bytes({EventKind::delivery, 0, 1}), 16u);
  EXPECT_EQ(encoded_bytes({EventKind::delivery, 4, 1}), 32u);
  EXPECT_EQ(encoded_bytes({EventKind::delivery, 5, 1}), 48u);
  EXPECT_EQ(encoded_bytes({EventKind::time, 5, 1}), 16u);
}

TEST(Replay, NothingRecordedIsOverAtOnce) {
  Replay replay;
  EXPECT_TRUE(replay.over());
  EXPECT_EQ(replay.on_post(RequestNumber{0}).kind, Replay::Receive::unrecorded);
  EXPECT_EQ(replay.on_test(TestClock{1}).kind, Replay::Test::free);
  double t;
  EXPECT_FALSE(replay.take_time(t));
  bool cancelled;
  EXPECT_FALSE(replay.take_cancel(RequestNumber{0}, cancelled));
}

// They are recorded when they are made, and asked for in the order of the posts.
TEST(Replay, MatchesAreFoundByNumberWhateverTheirOrder) {
  Replay replay;
  for (std::uint32_t source : {7u, 2u, 9u, 4u}) ASSERT_TRUE(replay.load({EventKind::match, source, source}, {}));
  ASSERT_TRUE(replay.end_loading());
  for (int number = 0; number < 11; ++number) {
    const bool recorded = number == 2 || number == 4 || number == 7 || number == 9;
    const Replay::Receive receive = replay.on_post(RequestNumber{static_cast<std::uint64_t>(number)});
    EXPECT_EQ(receive.kind, recorded ? Replay::Receive::forced : Replay::Receive::unrecorded) << number;
    if (recorded) {
      EXPECT_EQ(receive.source, Rank{number});
    }
    EXPECT_EQ(replay.over(), number >= 9) << number;
  }
}

// Paper 000, IV.A.4.
TEST(Replay, TestsBelowTheFirstClockFindNothing) {
  Replay replay;
  std::int32_t first[] = {1}, second[] = {0, 2};
  ASSERT_TRUE(replay.load({EventKind::delivery, 1, 3}, first));
  ASSERT_TRUE(replay.load({EventKind::delivery, 2, 5}, second));
  replay.load_last_failed(TestClock{7});
  auto kinds = [&](std::uint64_t clock) { return replay.on_test(TestClock{clock}).kind; };
  EXPECT_EQ(kinds(1), Replay::Test::nothing);
  EXPECT_EQ(kinds(2), Replay::Test::nothing);
  auto third = replay.on_test(TestClock{3});
  EXPECT_EQ(third.kind, Replay::Test::exactly);
  ASSERT_EQ(third.which.size(), 1u);
  EXPECT_EQ(third.which[0], 1);
  EXPECT_EQ(kinds(4), Replay::Test::nothing);
  auto fifth = replay.on_test(TestClock{5});
  ASSERT_EQ(fifth.which.size(), 2u);
  EXPECT_EQ(fifth.which[1], 2);
  EXPECT_EQ(kinds(6), Replay::Test::nothing);
  EXPECT_FALSE(replay.over()) << "one more unsuccessful test was made";
  EXPECT_EQ(kinds(7), Replay::Test::nothing);
  EXPECT_TRUE(replay.over());
  EXPECT_EQ(kinds(8), Replay::Test::free);
  EXPECT_EQ(replay.consumed(), 2u);
}

TEST(Replay, ATestThatSkipsARecordedOneHasDiverged) {
  Replay replay;
  std::int32_t found[] = {0};
  ASSERT_TRUE(replay.load({EventKind::delivery, 1, 3}, found));
  EXPECT_EQ(replay.on_test(TestClock{4}).kind, Replay::Test::diverged);
}

TEST(Replay, DamagedLogsAreRefused) {
  std::int32_t found[] = {0};
  Replay twice;
  EXPECT_TRUE(twice.load({EventKind::match, 1, 5}, {}));
  EXPECT_TRUE(twice.load({EventKind::match, 1, 3}, {})) << "matches come in any order";
  EXPECT_TRUE(twice.end_loading());
  EXPECT_TRUE(twice.load({EventKind::match, 2, 5}, {}));
  EXPECT_FALSE(twice.end_loading()) << "a receive matches once";
  EXPECT_TRUE(twice.load({EventKind::cancel, 1, 5}, {}));
  EXPECT_FALSE(twice.load({EventKind::cancel, 1, 5}, {}));
  Replay backwards;
  EXPECT_TRUE(backwards.load({EventKind::delivery, 1, 5}, found));
  EXPECT_FALSE(backwards.load({EventKind::delivery, 1, 5}, found));
  EXPECT_FALSE(backwards.load({EventKind::delivery, 1, 4}, found));
  Replay unknown;
  EXPECT_FALSE(unknown.load({static_cast<EventKind>(0), 0, 0}, {}));
  EXPECT_FALSE(unknown.load({static_cast<EventKind>(77), 0, 0}, {}));
}

// Under optimist a run of failed tests is a delivery of nothing.
TEST(Replay, ADeliveryOfNothing) {
  Replay replay;
  std::int32_t found[] = {0};
  ASSERT_TRUE(replay.load({EventKind::delivery, 0, 2}, {}));
  ASSERT_TRUE(replay.load({EventKind::dependency, 3, 16}, {}));
  ASSERT_TRUE(replay.load({EventKind::delivery, 1, 4}, found));
  ASSERT_TRUE(replay.load({EventKind::delivery, 0, 6}, {}));
  EXPECT_FALSE(replay.load({EventKind::delivery, 0, 6}, {}));
  EXPECT_EQ(replay.last_recorded(), TestClock{6});
  for (std::uint64_t clock : {1, 2, 3}) EXPECT_EQ(replay.on_test(TestClock{clock}).kind, Replay::Test::nothing);
  EXPECT_EQ(replay.on_test(TestClock{4}).kind, Replay::Test::exactly);
  EXPECT_EQ(replay.on_test(TestClock{5}).kind, Replay::Test::nothing);
  EXPECT_FALSE(replay.over());
  EXPECT_EQ(replay.on_test(TestClock{6}).kind, Replay::Test::nothing);
  EXPECT_TRUE(replay.over());
  EXPECT_EQ(replay.consumed(), 1u);
}

TEST(Replay, TimesComeBackBitForBit) {
  Replay replay;
  for (double t : {0.1, 1e300, -0.0}) ASSERT_TRUE(replay.load({EventKind::time, 0, std::bit_cast<std::uint64_t>(t)}, {}));
  for (double t : {0.1, 1e300, -0.0}) {
    double got = 5;
    ASSERT_TRUE(replay.take_time(got));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(got), std::bit_cast<std::uint64_t>(t));
  }
  EXPECT_TRUE(replay.over());
}

}  // namespace
}  // namespace hf::core::vprotocol
