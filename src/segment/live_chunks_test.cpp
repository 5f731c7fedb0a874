#include "segment/live_chunks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "segment/test_log.hpp"

namespace hf::segment {
namespace {

void append(TestLog& log, int stream, std::size_t payload_bytes) {
  wire::FrameHeader header;
  header.kind = wire::FrameKind::eager;
  header.length = payload_bytes;
  ASSERT_TRUE(log.writer().reserve(payload_bytes));
  log.writer().append(stream, header, [](std::uint64_t, MutableBytes out) { std::ranges::fill(out, std::byte{7}); });
  log.writer().publish(stream);
}

std::optional<std::vector<ChunkId>> live(TestLog& log, std::size_t max = 1000) {
  return live_chunks(log.control(), log.writer(), max);
}

TEST(LiveChunks, AreThoseOfStreamsNotGivenBack) {
  TestLog log(3, 8);
  EXPECT_TRUE(live(log)->empty());
  append(log, 0, 3 * chunk_area_bytes);  // with its header: four chunks
  append(log, 1, 100);
  append(log, 2, 2 * chunk_area_bytes - sizeof(wire::FrameHeader));
  auto before = live(log);
  ASSERT_TRUE(before);
  EXPECT_EQ(before->size(), 4u + 1u + 2u);
  EXPECT_EQ(std::set(before->begin(), before->end()).size(), before->size());
  log.writer().release(0);
  EXPECT_EQ(live(log)->size(), 3u);
  append(log, 1, 2 * chunk_area_bytes);  // into chunks of stream 0
  EXPECT_EQ(live(log)->size(), 5u);
}

TEST(LiveChunks, AreThoseThatWereNotDropped) {
  TestLog log(2, 8);
  append(log, 0, 3 * chunk_area_bytes);
  append(log, 0, 100);
  ASSERT_EQ(live(log)->size(), 4u);
  log.writer().drop_before(0, log.writer().appended(0));
  EXPECT_EQ(live(log)->size(), 1u);
}

TEST(LiveChunks, KnowNothingOfADamagedLog) {
  TestLog log(2, 8);
  append(log, 0, 3 * chunk_area_bytes);
  EXPECT_FALSE(live(log, 3));
  ChunkId first = chunk_of_word(log.control().stream(0).first);
  auto* head = reinterpret_cast<ChunkHead*>(log.segment(segment_of(first)).data() + index_of(first) * chunk_bytes);
  ChunkId next = head->next;
  head->next = first;  // a circle
  EXPECT_FALSE(live(log));
  head->next = chunk_id(77, 0);
  EXPECT_FALSE(live(log));
  head->next = next;
  EXPECT_TRUE(live(log));
  log.control().stream(0).tail = UINT64_MAX;
  EXPECT_FALSE(live(log));
}

}  // namespace
}  // namespace hf::segment
