#include "core/event_logger/file_feed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace hf::core::event_logger {
namespace {

constexpr Rank rank{1}, other{2};

// What each rank has written, and a file of records.
class Log final : public FileFeed::Writer {
 public:
  FileFeed::Extent written(Rank of) override { return {ranks[of], {}}; }
  bool read_events(Rank of, std::uint64_t position, MutableBytes out) override {
    for (std::byte& byte : out) byte = static_cast<std::byte>(position++);
    return of != damaged;
  }
  void put(const FileRecord& record, std::vector<std::byte> bytes) override { records.push_back({record, std::move(bytes)}); }
  void on_damaged(Rank of) override { reported = of; }

  struct Record {
    FileRecord head;
    std::vector<std::byte> bytes;
  };
  // All that was put is on disk.
  void sync(FileFeed& feed) {
    for (; synced < records.size(); ++synced) {
      const FileRecord& head = records[synced].head;
      std::uint64_t& end = ends[{head.rank, head.term}];
      if (head.kind == FileRecord::Kind::cut) end = head.position;
      if (!records[synced].bytes.empty()) end = head.position + records[synced].bytes.size();
      ASSERT_TRUE(feed.on_stable({{head.rank, head.term}, {end, head.last_failed}}));
    }
    feed.pump();
  }
  std::map<Rank, std::uint64_t> ranks;
  std::map<std::pair<Rank, Term>, std::uint64_t> ends;
  std::vector<Record> records;
  std::size_t synced = 0;
  Rank damaged{-1}, reported{-1};
};

TEST(FileFeed, WhatARankHasWrittenIsPutOnce) {
  Log log;
  FileFeed feed(log, 1 << 20);
  feed.add_rank(rank, Term{0}, {}, {});
  ASSERT_EQ(log.records.size(), 1u);  // the hosting begins
  log.sync(feed);
  log.ranks[rank] = 48;
  feed.look(rank);
  feed.look(rank);
  ASSERT_EQ(log.records.size(), 2u);
  EXPECT_EQ(log.records[1].head.position, 0u);
  EXPECT_EQ(log.records[1].bytes.size(), 48u);
  EXPECT_EQ(feed.stable(rank).end, 0u);
  log.sync(feed);
  EXPECT_EQ(feed.stable(rank).end, 48u);
  log.ranks[rank] = 64;
  feed.look(rank);
  EXPECT_EQ(log.records[2].head.position, 48u);
  EXPECT_EQ(log.records[2].bytes[0], std::byte{48});
}

TEST(FileFeed, NoFurtherAheadOfTheDiskThanSaid) {
  Log log;
  FileFeed feed(log, 100);
  for (Rank r : {rank, other}) feed.add_rank(r, Term{0}, {}, {});
  log.sync(feed);
  log.ranks = {{rank, 160}, {other, 160}};
  for (Rank r : {rank, other}) feed.look(r);
  EXPECT_EQ(log.records.size(), 3u);  // of the first alone, all of it
  log.sync(feed);
  EXPECT_EQ(log.records.size(), 4u);
}

// Of 300 bytes that were found 200 are on disk: whoever takes the rank over next reads the file that they were found in.
TEST(FileFeed, ACopyIsStableWhenItIsWhole) {
  Log log;
  FileFeed feed(log, 100, 100);
  log.ranks[rank] = 340;
  feed.add_rank(rank, Term{1}, {300, {}}, {});
  for (int piece = 0; piece < 3; ++piece) {
    log.sync(feed);
    EXPECT_EQ(feed.stable(rank).end, 0u) << piece;
  }
  log.sync(feed);
  EXPECT_EQ(feed.stable(rank).end, 300u);
  log.sync(feed);
  EXPECT_EQ(feed.stable(rank).end, 340u);
}

TEST(FileFeed, ACutStandsBeforeWhatFollowsIt) {
  Log log;
  FileFeed feed(log, 1 << 20);
  log.ranks[rank] = 64;
  feed.add_rank(rank, Term{0}, {}, {});
  log.sync(feed);
  log.sync(feed);
  EXPECT_EQ(feed.stable(rank).end, 64u);
  log.ranks[rank] = 32;
  feed.roll_back(rank, Term{1}, 32);
  const auto first = std::ranges::find_if(log.records, [](const Log::Record& record) { return record.head.term == Term{1}; });
  ASSERT_NE(first, log.records.end());
  EXPECT_EQ(first->head.kind, FileRecord::Kind::cut);
  EXPECT_EQ(first->head.position, 32u);
  EXPECT_EQ(feed.stable(rank).end, 32u);
}

TEST(FileFeed, NothingIsPutWhileItIsHeldBackOrAfterAFailure) {
  Log log;
  FileFeed feed(log, 1 << 20);
  feed.add_rank(rank, Term{0}, {}, {});
  log.sync(feed);
  feed.hold_back(true);
  log.ranks[rank] = 48;
  feed.look(rank);
  EXPECT_EQ(log.records.size(), 1u);
  feed.hold_back(false);
  EXPECT_EQ(log.records.size(), 2u);
  feed.stop();
  log.ranks[rank] = 64;
  feed.look(rank);
  feed.roll_back(rank, Term{1}, 16);
  feed.hold_back(false);
  EXPECT_EQ(log.records.size(), 2u);
}

TEST(FileFeed, ALogThatCannotBeReadIsSaidAndNotWritten) {
  Log log;
  FileFeed feed(log, 1 << 20);
  feed.add_rank(rank, Term{0}, {}, {});
  log.sync(feed);
  log.ranks[rank] = 48;
  log.damaged = rank;
  feed.look(rank);
  EXPECT_EQ(log.records.size(), 1u);
  EXPECT_EQ(log.reported, rank);
}

TEST(FileFeed, WhatWasNotPutIsNoAnswer) {
  Log log;
  FileFeed feed(log, 1 << 20);
  feed.add_rank(rank, Term{1}, {}, {});
  EXPECT_FALSE(feed.on_stable({{other, Term{0}}, {}}));
  EXPECT_FALSE(feed.on_stable({{rank, Term{2}}, {}}));
  EXPECT_TRUE(feed.on_stable({{rank, Term{0}}, {}}));  // of before a cut: it says nothing
  log.sync(feed);
  EXPECT_FALSE(feed.on_stable({{rank, Term{1}}, {48, {}}}));
}

}  // namespace
}  // namespace hf::core::event_logger
