// A damaged log ends a stream; it never makes its reader crash, hang or read outside. Runs best under AddressSanitizer.
#include <gtest/gtest.h>

#include <random>

#include "base/test_seed.hpp"
#include "segment/test_log.hpp"

namespace hf::segment {
namespace {

constexpr int ranks = 2;
constexpr int streams = ranks + 1;

void fill(TestLog& log, std::mt19937_64& draw) {
  LogWriter& writer = log.writer();
  for (std::uint64_t i = 0; i < 40; ++i) {
    wire::FrameHeader h;
    h.kind = i % 4 == 3 ? wire::FrameKind::matched : wire::FrameKind::eager;
    h.flags = wire::flag_logged;
    h.sequence = i;
    h.length = h.kind == wire::FrameKind::matched ? 0 : draw() % (i % 5 ? 900 : 40000);
    ASSERT_TRUE(writer.reserve(h.length));
    writer.append(static_cast<int>(i % ranks), h, [](std::uint64_t, MutableBytes out) {
      std::memset(out.data(), 0x5a, out.size());
    });
    ASSERT_TRUE(writer.reserve_raw(ranks, 48));
    writer.append_raw(ranks, std::vector<std::byte>(48, std::byte{0x11}));
  }
  for (int s = 0; s < streams; ++s) writer.publish(s);
}

// Everything that a reader can do. Ends: each record takes at least 64 bytes of what is there.
void read_all(TestLog& log) {
  std::size_t bytes_there = 0;
  for (std::size_t i = 0; i < log.segment_count(); ++i) bytes_there += log.segment(i).size();
  for (int s = 0; s < streams; ++s) {
    LogReader reader = log.reader(s);
    Record record;
    std::size_t count = 0;
    while (reader.next(record)) {
      ASSERT_LE(++count, bytes_there / record_align);
      std::vector<Bytes> pieces;
      if (record.header.length <= bytes_there && reader.pieces(record, 0, record.header.length, pieces)) {
        unsigned sum = 0;
        for (Bytes piece : pieces) {
          for (std::byte b : piece) sum += static_cast<unsigned>(b);
        }
        volatile unsigned kept = sum;
        static_cast<void>(kept);
      }
      LogReader again = log.reader(s);
      again.at(record.position, record.chunk, record);
    }
    LogReader raw = log.reader(s);
    std::byte some[48];
    for (count = 0; raw.read_raw(some); ++count) ASSERT_LE(count, bytes_there);
    LogReader seeker = log.reader(s);
    seeker.seek(StreamPosition{UINT64_MAX});
  }
}

TEST(LogFuzz, FlippedBytesNeverCrashAReader) {
  std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  for (int round = 0; round < 60; ++round) {
    TestLog log(ranks, 12);
    fill(log, draw);
    read_all(log);
    for (int flips = 0; flips < 15; ++flips) {
      MutableBytes segment = log.segment(draw() % log.segment_count());
      std::size_t chunk = draw() % (segment.size() / chunk_bytes);
      // Mostly where heads and headers are; else anywhere.
      std::size_t at = draw() % 3 ? chunk * chunk_bytes + draw() % (draw() % 2 ? 24 : 1024) : draw() % segment.size();
      segment[at] = static_cast<std::byte>(draw() % 4 ? draw() : 0xff);
      read_all(log);
    }
  }
}

TEST(LogFuzz, DamagedStreamEntriesNeverCrashAReader) {
  std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  for (int round = 0; round < 100; ++round) {
    TestLog log(ranks, 12);
    fill(log, draw);
    for (int s = 0; s < streams; ++s) {
      StreamEntry& entry = log.control().stream(s);
      if (draw() % 2) entry.tail = draw() % 3 ? draw() : UINT64_MAX - draw() % 100;
      if (draw() % 2) entry.first = draw() % 2 ? draw() : first_chunk_word(draw() % 6, static_cast<std::uint32_t>(draw() % 24));
    }
    read_all(log);
  }
}

// A forged header whose sums wrap around must not move the reader backwards.
TEST(LogFuzz, AForgedLengthNeverWrapsAround) {
  for (std::uint64_t length : {UINT64_MAX, UINT64_MAX - 55, UINT64_MAX - 56, UINT64_MAX - 63, UINT64_MAX - 120, std::uint64_t{1} << 63}) {
    TestLog log(ranks, 4);
    std::mt19937_64 draw(1);
    fill(log, draw);
    LogReader reader = log.reader(0);
    Record record;
    ASSERT_TRUE(reader.next(record));
    ASSERT_TRUE(reader.next(record));
    auto* head = reinterpret_cast<wire::FrameHeader*>(log.segment(0).data() + std::size_t{index_of(record.chunk)} * chunk_bytes +
                                                      chunk_head_bytes + record.position.value % chunk_area_bytes);
    ASSERT_EQ(head->sequence, record.header.sequence);
    head->length = length;
    head->check = wire::fold(*head);
    log.control().stream(0).tail = UINT64_MAX;
    read_all(log);
    LogReader again = log.reader(0);
    EXPECT_TRUE(again.next(record));
    EXPECT_FALSE(again.next(record));
    EXPECT_TRUE(again.damaged());
  }
}

TEST(LogFuzz, AMissingSegmentEndsTheStream) {
  struct None : SegmentMap {
    Bytes segment(std::uint32_t) override { return {}; }
  } none;
  TestLog log(ranks, 12);
  std::mt19937_64 draw(1);
  fill(log, draw);
  LogReader reader = log.reader(none, 0);
  Record record;
  EXPECT_FALSE(reader.next(record));
  EXPECT_TRUE(reader.damaged());
}

}  // namespace
}  // namespace hf::segment
