// Log writer and reader: what is published is read back, whole and in order, by readers of every kind.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "base/test_seed.hpp"
#include "segment/test_log.hpp"

namespace hf::segment {
namespace {

using wire::FrameHeader;
using wire::FrameKind;

std::vector<std::byte> payload_of(std::uint64_t name, std::size_t n) {
  std::vector<std::byte> out(n);
  std::uint64_t x = name * 0x9e3779b97f4a7c15u + 1;
  for (std::size_t i = 0; i < n; ++i) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    out[i] = static_cast<std::byte>(x);
  }
  return out;
}

FrameHeader message(std::uint64_t sequence, std::uint64_t length) {
  FrameHeader h;
  h.kind = sequence % 3 ? FrameKind::eager : FrameKind::rendezvous;
  h.flags = wire::flag_logged;
  h.source = 1;
  h.tag = static_cast<std::int32_t>(sequence % 7);
  h.context = 5;
  h.sequence = sequence;
  h.length = length;
  return h;
}

Record append(LogWriter& writer, int stream, std::uint64_t sequence, std::uint64_t length) {
  EXPECT_TRUE(writer.reserve(length));
  auto bytes = payload_of(sequence, length);
  return writer.append(stream, message(sequence, length), [&](std::uint64_t offset, MutableBytes out) {
    std::memcpy(out.data(), bytes.data() + offset, out.size());
  });
}

void expect_payload(LogReader& reader, const Record& record) {
  std::vector<std::byte> got(record.header.length);
  ASSERT_TRUE(reader.copy(record, 0, got));
  ASSERT_EQ(got, payload_of(record.header.sequence, record.header.length)) << record.header.sequence;
}

// Sizes that meet the edges of chunks and of several chunks, besides random ones up to 200 KB.
std::uint64_t draw_length(std::mt19937_64& draw) {
  constexpr std::int64_t area = chunk_area_bytes, head = sizeof(FrameHeader);
  auto near = [&](std::int64_t at) { return static_cast<std::uint64_t>(std::max<std::int64_t>(0, at + std::int64_t(draw() % 130) - 65)); };
  switch (draw() % 6) {
    case 0: return 0;
    case 1: return draw() % 64;
    case 2: return near(area - head);
    case 3: return near(area * static_cast<std::int64_t>(1 + draw() % 3) - head);
    case 4: return draw() % 4096;
    default: return draw() % 200000;
  }
}

TEST(Log, RandomRecordsOfInterleavedStreamsComeBack) {
  std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  constexpr int ranks = 3;
  TestLog log(ranks, 20, 1000, 777);
  std::vector<std::vector<Record>> written(ranks);
  std::vector<LogReader> following;
  for (int s = 0; s < ranks; ++s) following.push_back(log.reader(s));
  std::vector<std::size_t> followed(ranks), published(ranks);
  std::uint64_t sequence = 0;
  for (int round = 0; round < 400; ++round) {
    int s = static_cast<int>(draw() % ranks);
    written[s].push_back(append(log.writer(), s, sequence, draw_length(draw)));
    ++sequence;
    if (draw() % 3) {
      log.writer().publish(s);
      published[s] = written[s].size();
    }
    // A reader that follows sees exactly what is published.
    int f = static_cast<int>(draw() % ranks);
    Record record;
    while (draw() % 4 && following[f].next(record)) {
      ASSERT_LT(followed[f], published[f]);
      const Record& expected = written[f][followed[f]++];
      ASSERT_EQ(record.header.sequence, expected.header.sequence);
      ASSERT_EQ(record.position, expected.position);
      ASSERT_EQ(record.chunk, expected.chunk);
      ASSERT_EQ(record.header.length, expected.header.length);
      expect_payload(following[f], record);
    }
    ASSERT_FALSE(following[f].damaged());
  }
  for (int s = 0; s < ranks; ++s) {
    log.writer().publish(s);
    LogReader reader = log.reader(s);
    Record record;
    for (const Record& expected : written[s]) {
      ASSERT_TRUE(reader.next(record));
      ASSERT_EQ(record.header.sequence, expected.header.sequence);
      expect_payload(reader, record);
    }
    EXPECT_FALSE(reader.next(record));
    EXPECT_TRUE(reader.at_end());
    EXPECT_FALSE(reader.damaged());
    EXPECT_EQ(reader.position(), log.writer().appended(s));
  }
  EXPECT_GT(log.segment_count(), 3u);
}

TEST(Log, SeekAtAndPiecesFindRecordsWithoutTheWriter) {
  std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  TestLog log(2, 20);
  std::vector<Record> written;
  for (std::uint64_t i = 0; i < 60; ++i) {
    written.push_back(append(log.writer(), 0, i, draw_length(draw)));
    append(log.writer(), 1, 1000 + i, draw() % 3000);
  }
  log.writer().publish(0);
  for (int round = 0; round < 200; ++round) {
    std::size_t n = draw() % written.size();
    const Record& expected = written[n];
    Record record;
    LogReader reader = log.reader(0);
    reader.seek(expected.position);
    ASSERT_EQ(reader.position(), expected.position.value);
    ASSERT_TRUE(reader.next(record));
    ASSERT_EQ(record.header.sequence, expected.header.sequence);
    ASSERT_TRUE(reader.at(expected.position, expected.chunk, record));
    ASSERT_EQ(record.header.sequence, expected.header.sequence);
    ASSERT_FALSE(reader.at(StreamPosition{expected.position.value + 64}, expected.chunk, record) &&
                 record.position == expected.position);
    ASSERT_FALSE(reader.at(expected.position, expected.chunk + 1, record)) << "another chunk";
    ASSERT_FALSE(log.reader(1).at(expected.position, expected.chunk, record)) << "another stream";
    std::uint64_t offset = expected.header.length ? draw() % expected.header.length : 0;
    std::uint64_t n_bytes = expected.header.length ? draw() % (expected.header.length - offset + 1) : 0;
    std::vector<Bytes> pieces;
    ASSERT_TRUE(reader.pieces(expected, offset, n_bytes, pieces));
    auto whole = payload_of(expected.header.sequence, expected.header.length);
    std::uint64_t done = 0;
    for (Bytes piece : pieces) {
      ASSERT_EQ(std::memcmp(piece.data(), whole.data() + offset + done, piece.size()), 0);
      done += piece.size();
    }
    ASSERT_EQ(done, n_bytes);
    ASSERT_FALSE(reader.pieces(expected, offset, expected.header.length - offset + 1, pieces)) << "beyond the payload";
    ASSERT_FALSE(reader.pieces(expected, expected.header.length + 1, 0, pieces));
  }
}

TEST(Log, NothingIsSeenBeforeItIsPublished) {
  TestLog log(2, 4);
  append(log.writer(), 0, 0, 20000);
  LogReader reader = log.reader(0);
  Record record;
  EXPECT_FALSE(reader.next(record));
  EXPECT_TRUE(reader.at_end());
  EXPECT_FALSE(reader.damaged());
  Record second = append(log.writer(), 0, 1, 10);
  EXPECT_FALSE(reader.at(second.position, second.chunk, record));
  log.writer().publish(0);
  EXPECT_TRUE(reader.next(record));
  EXPECT_TRUE(reader.at(second.position, second.chunk, record));
}

TEST(Log, RawStreamsAreReadWholeOrNotAtAll) {
  std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  TestLog log(2, 3);
  constexpr int events = 2;
  LogReader reader = log.reader(events);
  std::uint64_t written = 0, read = 0;
  for (int round = 0; round < 2000; ++round) {
    std::size_t n = 16 * (1 + draw() % (draw() % 50 ? 3 : 2500));
    ASSERT_TRUE(log.writer().reserve_raw(events, n));
    log.writer().append_raw(events, payload_of(written, n));
    append(log.writer(), 0, static_cast<std::uint64_t>(round), 100);
    std::vector<std::byte> got(n);
    ASSERT_FALSE(reader.read_raw(got)) << "not published";
    ASSERT_EQ(reader.position(), read);
    log.writer().publish(events);
    ASSERT_TRUE(reader.read_raw(got));
    ASSERT_EQ(got, payload_of(written, n));
    written += n;
    read += n;
    ASSERT_FALSE(reader.read_raw(std::span(got).first(1)));
  }
}

// Segments of a log, and how often one was asked for.
struct Counted : SegmentMap {
  explicit Counted(TestLog& of) : log(of) {}
  Bytes segment(std::uint32_t index) override {
    ++asked;
    return index < log.segment_count() ? Bytes(log.segment(index)) : Bytes();
  }
  TestLog& log;
  int asked = 0;
};

// Two who follow a stream at different places, by one reader.
TEST(Log, WhoGoesBackInARawStreamDoesNotComeFromItsBeginning) {
  TestLog log(2, 3);
  constexpr int events = 2;
  constexpr std::uint64_t bytes = 500 * chunk_area_bytes;
  ASSERT_TRUE(log.writer().reserve_raw(events, bytes));
  const auto written = payload_of(0, bytes);
  log.writer().append_raw(events, written);
  log.writer().publish(events);
  Counted segments(log);
  std::vector<ChunkId> trail;
  LogReader reader = log.reader(segments, events);
  reader.keep_trail(trail);
  std::vector<std::byte> got(4096);
  for (std::uint64_t at = 50 * chunk_area_bytes; at + got.size() <= bytes; at += got.size()) {
    for (const std::uint64_t position : {at, at - 30 * chunk_area_bytes}) {
      reader.seek_raw(position);
      ASSERT_TRUE(reader.read_raw(got));
      ASSERT_TRUE(std::ranges::equal(got, std::span(written).subspan(position, got.size()))) << position;
    }
  }
  EXPECT_LT(segments.asked, 20'000);
}

TEST(Log, ExhaustionIsToldAndChangesNothing) {
  TestLog log(2, 4, 2);
  EXPECT_FALSE(log.writer().reserve(8 * chunk_bytes));
  EXPECT_TRUE(log.writer().reserve(chunk_bytes));
  std::uint64_t appended = 0;
  while (log.writer().reserve(chunk_area_bytes)) append(log.writer(), 0, appended++, chunk_area_bytes);
  EXPECT_GE(appended, 5u);
  log.writer().publish(0);
  LogReader reader = log.reader(0);
  Record record;
  for (std::uint64_t i = 0; i < appended; ++i) {
    ASSERT_TRUE(reader.next(record));
    expect_payload(reader, record);
  }
  EXPECT_FALSE(reader.next(record));
}

TEST(Log, AReleasedStreamsChunksServeTheOthers) {
  TestLog log(3, 8, 4);
  std::uint64_t n = 0;
  while (log.writer().reserve(30000)) {
    append(log.writer(), n % 2 == 0 ? 0 : 1, n, 30000);
    ++n;
  }
  log.writer().publish(0);
  log.writer().publish(1);
  std::uint64_t held = log.writer().bytes_held();
  log.writer().release(0);
  EXPECT_LT(log.writer().bytes_held(), held / 2 + 2 * chunk_bytes);
  std::uint64_t more = 0;
  while (log.writer().reserve(30000)) {
    append(log.writer(), 2, 5000 + more, 30000);
    ++more;
  }
  EXPECT_GE(more, n / 2 - 2);
  EXPECT_EQ(log.segment_count(), 4u);
  log.writer().publish(2);
  for (int s : {1, 2}) {
    LogReader reader = log.reader(s);
    Record record;
    std::uint64_t count = 0;
    while (reader.next(record)) {
      expect_payload(reader, record);
      ++count;
    }
    EXPECT_FALSE(reader.damaged());
    EXPECT_EQ(count, s == 1 ? n / 2 : more);
  }
}

// What stands at the position or behind it stays readable by all readers, old ones and new ones; the rest serves again.
TEST(Log, WhatIsDroppedServesAgainAndTheRestStays) {
  std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  TestLog log(2, 20, 8);
  std::vector<Record> written;
  std::size_t kept = 0;  // the first that is needed
  LogReader old = log.reader(0);
  for (std::uint64_t i = 0; i < 1500; ++i) {
    written.push_back(append(log.writer(), 0, i, draw_length(draw)));
    append(log.writer(), 1, 100000 + i, draw() % 20);
    log.writer().publish(0);
    if (draw() % 4 != 0) continue;
    kept += draw() % (written.size() - kept);
    const StreamPosition from = written[kept].position;
    if (draw() % 2) old.seek(from);  // else it stands where chunks are dropped
    log.writer().drop_before(0, from.value);
    for (LogReader reader : {log.reader(0), old}) {
      reader.seek(from);
      Record record;
      for (std::size_t n = kept; n < written.size(); ++n) {
        ASSERT_TRUE(reader.next(record)) << n << " of " << written.size() << " from " << kept;
        ASSERT_EQ(record.header.sequence, n);
        expect_payload(reader, record);
      }
      ASSERT_FALSE(reader.next(record));
      ASSERT_FALSE(reader.damaged());
    }
  }
  EXPECT_LE(log.segment_count(), 8u);
  EXPECT_GT(log.writer().appended(0), 3 * 8 * 20 * chunk_area_bytes) << "no chunk has served twice";
}

TEST(Log, TheFirstRecordThatIsKeptIsFound) {
  TestLog log(2, 20);
  const Record first = append(log.writer(), 0, 0, 100);
  append(log.writer(), 0, 1, 5 * chunk_area_bytes);
  const Record third = append(log.writer(), 0, 2, 100);
  append(log.writer(), 0, 3, 3 * chunk_area_bytes);
  log.writer().publish(0);
  Record record;
  LogReader reader = log.reader(0);
  reader.seek_first();
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.header.sequence, 0u);
  log.writer().drop_before(0, third.position.value);
  EXPECT_EQ(log.writer().bytes_held(), 4 * chunk_bytes);
  LogReader fresh = log.reader(0);
  fresh.seek_first();
  ASSERT_TRUE(fresh.next(record));
  EXPECT_EQ(record.header.sequence, 2u) << "the chunk begins inside the one before";
  LogReader early = log.reader(0);
  EXPECT_FALSE(early.next(record));
  EXPECT_TRUE(early.damaged()) << "it wants what was dropped";
  LogReader inside = log.reader(0);
  inside.seek(StreamPosition{first.position.value + 192});
  EXPECT_FALSE(inside.next(record));
}

TEST(LogDeathTest, AppendingToAReleasedStreamIsOurBug) {
  TestLog log(2, 8);
  append(log.writer(), 0, 0, 100);
  log.writer().release(0);
  ASSERT_TRUE(log.writer().reserve(10));
  auto nothing = [](std::uint64_t, MutableBytes) {};
  EXPECT_DEATH(log.writer().append(0, message(1, 10), nothing), "released");
}

TEST(Log, AReaderOnAnotherThreadSeesOnlyWholeRecords) {
  constexpr std::uint64_t records = 3000;
  // All segments are there before the reader starts: processes learn of a new one from the agent.
  TestLog log(2, 512, 1);
  ASSERT_TRUE(log.writer().reserve(1));
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < records; ++i) {
      append(log.writer(), 0, i, i % 50 ? i % 300 : 20000);
      log.writer().publish(0);
    }
  });
  LogReader reader = log.reader(0);
  std::uint64_t seen = 0;
  while (seen < records) {
    Record record;
    if (!reader.next(record)) {
      ASSERT_FALSE(reader.damaged());
      std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(record.header.sequence, seen++);
    expect_payload(reader, record);
  }
  writer.join();
}

// Each record is looked for by a reader of its own, from the start, while what stands before it is dropped and written over.
TEST(Log, AReaderOnAnotherThreadFindsItsPlaceWhileChunksAreDropped) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the reader reads what may be written over, and looks afterwards whether it was";
#endif
  constexpr std::uint64_t records = 4000;
  TestLog log(2, 64, 1);
  ASSERT_TRUE(log.writer().reserve(1));
  std::atomic<std::uint64_t> needed = 0;
  std::jthread writer([&](std::stop_token stop) {  // asked to when the test fails
    for (std::uint64_t i = 0; i < records && !stop.stop_requested(); ++i) {
      while (!log.writer().reserve(20000)) {
        if (stop.stop_requested()) return;
        log.writer().drop_before(0, needed);
      }
      append(log.writer(), 0, i, i % 5 ? i % 3000 : 20000);
      log.writer().publish(0);
    }
  });
  for (std::uint64_t seen = 0; seen < records; ++seen) {
    LogReader reader = log.reader(0);
    Record record;
    while (reader.at_end() || reader.published() <= needed) std::this_thread::yield();
    reader.seek(StreamPosition{needed});
    ASSERT_EQ(reader.position(), needed);
    ASSERT_TRUE(reader.next(record)) << seen;
    ASSERT_EQ(record.header.sequence, seen);
    expect_payload(reader, record);
    needed = reader.position();
  }
}

}  // namespace
}  // namespace hf::segment
