#include "segment/carried_events.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace hf::segment {
namespace {

constexpr Rank source{1};

struct Fixture : testing::Test {
  Fixture() { std::memset(memory.get(), 0, control_bytes(2)); }
  std::unique_ptr<std::byte, decltype(&std::free)> memory{static_cast<std::byte*>(std::aligned_alloc(4096, control_bytes(2))), &std::free};
  CarriedEvents events{ControlView(memory.get(), 2), source};
  bool take(Term term, std::uint64_t begin, std::uint64_t end, TestClock failed = {}) {
    return events.take(term, begin, failed, written(begin, end), [] { return Term{}; });
  }
  static std::vector<std::byte> written(std::uint64_t begin, std::uint64_t end) {
    std::vector<std::byte> bytes;
    for (; begin < end; ++begin) bytes.push_back(static_cast<std::byte>(begin * 7 + begin / 256));
    return bytes;
  }
  void expect(Term term, std::uint64_t begin, std::uint64_t end) {
    CarriedEvents::Piece piece = events.read(term);
    EXPECT_EQ(piece.position, begin);
    EXPECT_EQ(piece.bytes, written(begin, end));
  }
};
using CarriedEventsTest = Fixture;

TEST_F(CarriedEventsTest, ArePiecesOfOneStream) {
  EXPECT_TRUE(events.read(Term{0}).bytes.empty());
  EXPECT_TRUE(take(Term{0}, 16, 40));
  EXPECT_TRUE(take(Term{0}, 40, 48, TestClock{3}));
  EXPECT_TRUE(take(Term{0}, 32, 64));  // over a new connection: from what its sender knows to be stable
  expect(Term{0}, 16, 64);
  EXPECT_EQ(events.read(Term{0}).last_failed, TestClock{3});
  EXPECT_TRUE(take(Term{0}, 16, 24));
  expect(Term{0}, 16, 64);
}

TEST_F(CarriedEventsTest, BeginAnewBehindAGap) {
  EXPECT_TRUE(take(Term{0}, 0, 40));
  EXPECT_TRUE(take(Term{0}, 80, 96));
  expect(Term{0}, 80, 96);
}

TEST_F(CarriedEventsTest, KeepTheLastOnes) {
  std::uint64_t end = 0;
  for (; end < 3 * CarriedEvents::capacity; end += 1000) EXPECT_TRUE(take(Term{0}, end, end + 1000));
  expect(Term{0}, end - CarriedEvents::capacity, end);
}

TEST_F(CarriedEventsTest, OfAnOlderTermAreNotMixedWithTheNewer) {
  EXPECT_TRUE(take(Term{0}, 0, 40, TestClock{9}));
  EXPECT_TRUE(take(Term{1}, 24, 32));
  EXPECT_TRUE(events.read(Term{0}).bytes.empty());
  expect(Term{1}, 24, 32);
  EXPECT_EQ(events.read(Term{1}).last_failed, TestClock{0});
  EXPECT_FALSE(take(Term{0}, 40, 48));
  expect(Term{1}, 24, 32);
}

TEST_F(CarriedEventsTest, ThatCannotBeAreRefused) {
  EXPECT_FALSE(take(Term{0}, 0, CarriedEvents::capacity + 1));
  EXPECT_FALSE(events.take(Term{0}, UINT64_MAX, {}, written(0, 8), [] { return Term{}; }));
  EXPECT_TRUE(events.read(Term{0}).bytes.empty());
}

// Either whoever takes the rank over sees them, or what depends on them is not taken.
TEST_F(CarriedEventsTest, StandThereBeforeItIsAskedWhoIsRefused) {
  std::size_t seen = 0;
  auto refused_below = [&] {
    seen = events.read(Term{1}).bytes.size();
    return Term{2};
  };
  EXPECT_FALSE(events.take(Term{1}, 0, {}, written(0, 8), refused_below));
  EXPECT_EQ(seen, 8u);
  EXPECT_TRUE(events.take(Term{2}, 0, {}, written(0, 8), [] { return Term{2}; }));
}

}  // namespace
}  // namespace hf::segment
