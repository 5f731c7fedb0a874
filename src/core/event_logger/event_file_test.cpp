#include "core/event_logger/event_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace hf::core::event_logger {
namespace {

constexpr FileName name{0x1234, 3};

std::vector<std::byte> events(std::size_t count, int of) { return std::vector<std::byte>(count, static_cast<std::byte>(of)); }

// A file that grows as an agent writes it: `sync` before what follows.
struct Written {
  std::vector<std::byte> file;
  std::uint64_t synced = 0;
  Written() { encode_head(name, file); }
  std::uint64_t append(int rank, std::uint32_t term, std::uint64_t position, const std::vector<std::byte>& bytes,
                       std::uint64_t promised = 0, std::uint64_t failed = 0) {
    const std::uint64_t place = file.size();
    const FileRecord record{FileRecord::Kind::append, Rank{rank}, Term{term}, position, {promised, {}}, TestClock{failed}, bytes};
    encode(record, name, place, synced, file);
    return place;
  }
  void cut(int rank, std::uint32_t term, std::uint64_t position) {
    encode({.kind = FileRecord::Kind::cut, .rank = Rank{rank}, .term = Term{term}, .position = position}, name, file.size(), synced, file);
  }
  void sync() { synced = file.size(); }
};

Found found_of(const std::vector<std::byte>& file, int rank, std::uint32_t term, FileEnd end = FileEnd::whole) {
  std::map<Rank, Found> found;
  EXPECT_EQ(find_in(file, name, {{Rank{rank}, Term{term}}}, found).end, end);
  return found[Rank{rank}];
}

TEST(EventFile, WhatWasWrittenIsRead) {
  Written w;
  w.append(1, 0, 0, {});
  w.append(1, 0, 0, events(16, 1), 0, 7);
  w.append(2, 0, 0, events(20, 2));
  w.append(1, 0, 16, events(5, 3));
  const Found found = found_of(w.file, 1, 1);
  EXPECT_TRUE(found.known);
  EXPECT_EQ(found.term, Term{0});
  EXPECT_EQ(found.last_failed, TestClock{7});
  ASSERT_EQ(found.bytes.size(), 21u);
  EXPECT_EQ(found.bytes[20], std::byte{3});
  EXPECT_TRUE(found_of(w.file, 5, 1).bytes.empty());
  EXPECT_EQ(w.file.size() % 8, 0u);
}

TEST(EventFile, TheExampleOfThePage) {
  Written w;
  w.sync();
  EXPECT_EQ(w.append(1, 0, 0, events(16, 0x55), 0, 7), 24u);
  const std::uint8_t head[] = {1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0, 0, 0,
                               0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7,  0, 0, 0, 0, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(head)), Bytes(w.file).subspan(32, sizeof head)));
  EXPECT_EQ(w.file.size(), 24u + 64 + 16);
}

TEST(EventFile, ATornTailIsCutWhereverItIsTorn) {
  Written w;
  w.append(1, 0, 0, events(48, 1));
  w.sync();
  const std::uint64_t place = w.append(1, 0, 48, events(48, 2));
  for (std::uint64_t left = place; left < w.file.size(); ++left) {
    std::vector<std::byte> torn(w.file.begin(), w.file.begin() + static_cast<std::ptrdiff_t>(left));
    EXPECT_EQ(found_of(torn, 1, 1, left == place ? FileEnd::whole : FileEnd::torn).bytes.size(), 48u);
    torn.resize(w.file.size());  // the file has grown, what should stand there has not been written
    EXPECT_EQ(found_of(torn, 1, 1, FileEnd::torn).bytes.size(), 48u);
  }
}

TEST(EventFile, AByteThatDiffersIsSeen) {
  Written w;
  const std::uint64_t place = w.append(1, 0, 0, events(16, 1));
  for (std::uint64_t at = place; at < w.file.size(); ++at) {
    std::vector<std::byte> file = w.file;
    file[at] ^= std::byte{4};
    EXPECT_EQ(found_of(file, 1, 1, FileEnd::torn).bytes.size(), 0u) << at;
  }
}

TEST(EventFile, APageOfTheTailThatWasNeverWrittenIsATornTail) {
  Written w;
  w.append(1, 0, 0, events(16, 1));
  w.sync();
  const std::uint64_t first = w.append(1, 0, 16, events(16, 2));
  w.append(1, 0, 32, events(16, 3));  // of the same batch: it got to the disk, the one before did not
  std::fill_n(w.file.begin() + static_cast<std::ptrdiff_t>(first), 80, std::byte{0});
  EXPECT_EQ(found_of(w.file, 1, 1, FileEnd::torn).bytes.size(), 16u);
}

TEST(EventFile, WhatWasSyncedAndIsNotThereIsDamage) {
  Written w;
  const std::uint64_t first = w.append(1, 0, 0, events(16, 1));
  w.sync();
  w.append(1, 0, 16, events(16, 2));
  std::vector<std::byte> file = w.file;
  file[first + 60] ^= std::byte{1};
  found_of(file, 1, 1, FileEnd::damaged);
  file = w.file;
  file[3] ^= std::byte{1};  // its head
  found_of(file, 1, 1, FileEnd::damaged);
}

TEST(EventFile, WhatAnotherJobOrPlaceHasWrittenIsNoRecord) {
  Written w;
  std::vector<std::byte> file = w.file;
  encode({.rank = Rank{1}, .promised = {8, {}}, .bytes = {}}, {name.key + 1, name.agent}, file.size(), 0, file);
  EXPECT_EQ(found_of(file, 1, 1, FileEnd::torn).promised.end, 0u);
  file = w.file;
  encode({.rank = Rank{1}, .promised = {8, {}}, .bytes = {}}, name, file.size() + 8, 0, file);
  EXPECT_EQ(found_of(file, 1, 1, FileEnd::torn).promised.end, 0u);
}

// The disk was slow, the holder was lost, and the next one had only begun: nothing was ever told.
TEST(EventFile, AFileThatHasNothingOfARankSaysThatNothingWasTold) {
  Written w;
  Found best;
  take(best, {.known = true, .promised = {232, {}}, .bytes = events(40, 1)}, Term{1});
  take(best, found_of(w.file, 1, 1), Term{1});
  EXPECT_TRUE(best.whole);
  EXPECT_TRUE(best.bytes.empty());
}

TEST(EventFile, ACopyThatHasOnlyBegunSaysSo) {
  Written w;
  w.append(1, 1, 0, {}, 48);
  w.append(1, 1, 0, events(16, 1), 48);
  Found found = found_of(w.file, 1, 2);
  EXPECT_EQ(found.promised.end, 48u);
  EXPECT_EQ(found.bytes.size(), 16u);
  Found older{.known = true, .promised = {48, {}}, .bytes = events(48, 1)};
  Found best;
  take(best, std::move(found), Term{100});
  take(best, std::move(older), Term{100});
  EXPECT_EQ(best.bytes.size(), 48u);
}

TEST(EventFile, AnOrphanGoesOnFromItsCut) {
  Written w;
  w.append(1, 0, 0, events(48, 1));
  w.cut(1, 1, 32);
  w.append(1, 1, 0, {}, 32);
  w.append(1, 1, 32, events(8, 2));
  const Found found = found_of(w.file, 1, 2);
  EXPECT_EQ(found.term, Term{1});
  ASSERT_EQ(found.bytes.size(), 40u);
  EXPECT_EQ(found.bytes[32], std::byte{2});
}

TEST(EventFile, AGapIsDamage) {
  Written w;
  w.append(1, 0, 16, events(16, 1));
  found_of(w.file, 1, 1, FileEnd::damaged);
}

}  // namespace
}  // namespace hf::core::event_logger
