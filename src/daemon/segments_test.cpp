#include "daemon/segments.hpp"

#include <gtest/gtest.h>

#include "core/vprotocol/test_events.hpp"

namespace hf::daemon {
namespace {

std::vector<std::byte> events(int count) {
  std::vector<std::byte> out;
  for (int i = 0; i < count; ++i) core::vprotocol::encode(out, {core::vprotocol::EventKind::time, 0, static_cast<std::uint64_t>(i)});
  return out;
}

SegmentStore store_of_three() { return SegmentStore(3, {64 << 20, 0, "/tmp", choose_segment_bytes(64 << 20), 0}); }

// An orphan goes on with what is left of its events, under numbers of its own; its peers may be reading what it had logged before.
TEST(Segments, ARankThatIsRolledBackKeepsItsOldLogsByNumber) {
  SegmentStore store = store_of_three();
  const std::vector<std::byte> before = events(6);
  ASSERT_TRUE(store.begin_at(1, 4, before, TestClock{9}, [] {}));
  ASSERT_TRUE(store.create_incarnation(1));  // 5
  EXPECT_EQ(store.event_extent(1).end, before.size());
  EXPECT_EQ(store.event_extent(1).last_failed, TestClock{9});

  const Bytes kept = Bytes(before).first(32);
  ASSERT_TRUE(store.roll_back(1, 6, kept, [] {}));
  ASSERT_TRUE(store.create_incarnation(1));  // 7
  EXPECT_EQ(store.first_incarnation(1), 6u);
  EXPECT_EQ(store.event_extent(1).end, 32u);
  EXPECT_EQ(store.event_extent(1).last_failed, TestClock{}) << "the failed tests before the cut are events";
  std::vector<std::byte> read(32);
  ASSERT_TRUE(store.read_events(1, 0, read));
  EXPECT_TRUE(std::ranges::equal(read, kept));
  for (std::uint32_t number = 4; number <= 7; ++number) EXPECT_FALSE(store.control_bytes(1, number).empty()) << number;
  EXPECT_TRUE(store.control_bytes(1, 3).empty());
  EXPECT_TRUE(store.control_bytes(1, 8).empty());
  EXPECT_FALSE(store.log_bytes(1, 4, 0).empty()) << "the events as they were";
}

}  // namespace
}  // namespace hf::daemon
