#include "recorder/recording.hpp"

#include <errno.h>
#include <gtest/gtest.h>
#include <time.h>

#include <cstring>
#include <stdexcept>
#include <vector>

#include "recorder/onward.hpp"
#include "recorder/test_owner.hpp"

namespace hf::recorder {
namespace {

// What the incarnations of a rank leave: their events, and how many clock reads they are known to have made.
struct Past {
  std::vector<std::byte> events;
  std::uint64_t reads = 0;
  std::vector<FilePlace> places;
};

class Rank : public ::testing::Test {
 protected:
  void SetUp() override { written.clear(); }

  static Recording next(Past& past) {
    Recording recording({append, diverged});
    past.places.resize(FileIndex::count(past.events.data(), past.events.size()));
    recording.load(past.events.data(), past.events.size(), past.reads, past.places.data());
    return recording;
  }
  static std::uint64_t read(Recording& recording, std::uint32_t clock, std::uint64_t now) {
    std::uint64_t ns = 0;
    return recording.replay_clock(clock, ns) ? ns : recording.record_clock(clock, now);
  }
  static void end(Past& past, const Recording& recording) {
    past.events.insert(past.events.end(), written.begin(), written.end());
    past.reads = std::max(past.reads, recording.clock_reads());
    written.clear();
  }
};

constexpr std::uint32_t mono = CLOCK_MONOTONIC, real = CLOCK_REALTIME;

TEST_F(Rank, ReadsTheSameAgainAndGoesOn) {
  Past past;
  Recording first = next(past);
  EXPECT_EQ(read(first, mono, 100), 100u);
  EXPECT_EQ(read(first, real, 5000), 5000u);
  EXPECT_EQ(read(first, mono, 2000), 2000u);
  end(past, first);
  EXPECT_EQ(past.events.size(), 48u);
  Recording second = next(past);
  EXPECT_EQ(read(second, mono, 9000), 100u);
  EXPECT_EQ(read(second, real, 9001), 5000u);
  EXPECT_EQ(read(second, mono, 9002), 2000u);
  EXPECT_TRUE(written.empty());
  EXPECT_EQ(read(second, mono, 9003), 9003u);
}

// Reads by which a program waits for a time have an event a microsecond, and are the same in every incarnation, wherever one died.
TEST_F(Rank, WaitingByAClockIsCheapAndRepeats) {
  Past past;
  std::vector<std::uint64_t> seen;
  constexpr std::size_t reads = 5000;
  for (std::size_t dies_after : {std::size_t{70}, std::size_t{500}, std::size_t{501}, std::size_t{1777}, reads}) {
    Recording recording = next(past);
    for (std::size_t i = 0; i < dies_after; ++i) {
      const std::uint64_t value = read(recording, mono, 1000000 * (past.reads + 1) + 25 * i);
      if (i == seen.size()) seen.push_back(value);
      ASSERT_EQ(value, seen[i]) << i;
      ASSERT_TRUE(i == 0 || seen[i] > seen[i - 1]) << i;
    }
    end(past, recording);
  }
  EXPECT_LT(past.events.size() / sizeof(EventHead), reads / 10);
}

TEST_F(Rank, ReadsWithoutAnEventAreToldByAFlush) {
  Past past;
  Recording first = next(past);
  std::vector<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 100; ++i) seen.push_back(read(first, mono, 10000 + 10 * i));
  first.flush_clock();
  const std::size_t flushed = written.size();
  first.flush_clock();
  EXPECT_EQ(written.size(), flushed);
  end(past, first);
  past.reads = 0;  // lost with the node
  Recording second = next(past);
  for (std::uint64_t value : seen) EXPECT_EQ(read(second, mono, 1), value);
}

TEST_F(Rank, NoClockGoesBackAfterTheReplay) {
  Past past;
  Recording first = next(past);
  read(first, mono, 1000000);
  end(past, first);
  Recording second = next(past);
  read(second, mono, 0);
  EXPECT_EQ(read(second, mono, 3000), 1000000u) << "the clock of another host";
  EXPECT_EQ(read(second, mono, 5000), 1002000u);
}

// Another host began at another time, and the program's clock goes on by the time that has passed.
TEST_F(Rank, ClocksOfAnotherHostGoOnByRealTime) {
  constexpr std::int64_t now = 1'700'000'000'000'000'000, second = 1'000'000'000, system = 1'000'000'000'000'000;
  constexpr auto later = static_cast<std::uint64_t>(second);
  const HostClocks one{.host = 1, .monotonic = 100 - now, .raw = 200 - now, .boot = 300 - now, .ticks = 400 - now};
  const HostClocks two{.host = 2, .monotonic = system - now - second, .raw = -now, .boot = 300 - now + second / 2, .ticks = system - now};
  Past past;
  Recording first = next(past);
  EXPECT_FALSE(first.replay_host(one));
  first.record_host(one);
  EXPECT_EQ(read(first, mono, 100), 100u);
  end(past, first);
  Recording second_one = next(past);
  ASSERT_TRUE(second_one.replay_host(two));
  EXPECT_FALSE(second_one.is_first_host());
  EXPECT_EQ(read(second_one, mono, system), 100u);
  EXPECT_EQ(read(second_one, mono, system), 100 + later);
  EXPECT_EQ(read(second_one, CLOCK_MONOTONIC_COARSE, system), 100 + later);
  EXPECT_EQ(second_one.offset(mono), 100 + second - system);
  EXPECT_EQ(second_one.host_offset(CLOCK_BOOTTIME), 0) << "real times of two hosts may differ so much";
  EXPECT_EQ(second_one.host_offset(real), 0);
  EXPECT_EQ(second_one.host_offset_of_ticks(), 400 - system);
  Recording same_host = next(past);
  const HostClocks set{.host = 1, .monotonic = 100 - now + 3600 * second};
  ASSERT_TRUE(same_host.replay_host(set));
  EXPECT_TRUE(same_host.is_first_host()) << "its real time was set";
  EXPECT_FALSE(same_host.sets_clocks());
}

TEST_F(Rank, ClocksOfAnotherHostDoNotGoBack) {
  const HostClocks one{.host = 1, .monotonic = 5'000'000'000}, two{.host = 2, .monotonic = 0};
  Past past;
  Recording first = next(past);
  first.record_host(one);
  read(first, mono, 9'000'000'000);
  end(past, first);
  Recording second = next(past);
  ASSERT_TRUE(second.replay_host(two));
  read(second, mono, 0);
  EXPECT_EQ(read(second, mono, 3'000'000'000), 9'000'000'000u) << "its real time is behind";
  EXPECT_EQ(read(second, mono, 3'000'000'001), 9'000'000'001u);
  EXPECT_EQ(second.host_offset(mono), 5'000'000'000);
}

TEST(Onward, GoesOnFromWhereTheReplayEnded) {
  Onward used;
  EXPECT_EQ(used.replayed(3600), 3600);
  EXPECT_EQ(used.from_system(1700), 3600) << "the time that another process has used";
  EXPECT_EQ(used.from_system(1800), 3700);
  Onward more;
  more.replayed(50);
  EXPECT_EQ(more.from_system(70), 70);
  EXPECT_EQ(more.from_system(80), 80);
  Onward other;
  other.replayed(100);
  EXPECT_EQ(other.from_system(9000, -8895), 105) << "it is known how far the other host's is ahead";
  EXPECT_EQ(other.from_system(9001), 106);
}

TEST_F(Rank, ValuesAndBytesComeInTheirOrder) {
  Past past;
  Recording first = next(past);
  first.record_value(Call::process_id, 77);
  first.record_bytes(Call::random_bytes, "abcde", 5);
  read(first, mono, 10);
  first.record_value(Call::random_device, 3);
  end(past, first);
  Recording second = next(past);
  std::uint64_t value = 0;
  char bytes[8];
  std::size_t size = sizeof bytes;
  EXPECT_EQ(read(second, mono, 99), 10u) << "clocks have an order of their own";
  ASSERT_TRUE(second.replay_value(Call::process_id, value));
  EXPECT_EQ(value, 77u);
  ASSERT_TRUE(second.replay_bytes(Call::random_bytes, bytes, size));
  EXPECT_EQ(std::string(bytes, size), "abcde");
  ASSERT_TRUE(second.replay_value(Call::random_device, value));
  EXPECT_FALSE(second.replay_value(Call::random_device, value));
}

TEST_F(Rank, WhatIsNextAndWhetherItIsOverIsKnown) {
  Past past;
  Recording first = next(past);
  EXPECT_TRUE(first.is_over());
  read(first, mono, 10);
  first.record_value(Call::child, 2);
  first.record_file(FileStep::used, 5, {100, 1});
  end(past, first);
  Recording second = next(past);
  std::uint64_t value = 0;
  EXPECT_FALSE(second.is_next(Call::child, 1));
  EXPECT_TRUE(second.is_next(Call::child, 2));
  ASSERT_TRUE(second.replay_value(Call::child, value));
  EXPECT_FALSE(second.is_over()) << "a clock is left";
  read(second, mono, 99);
  EXPECT_TRUE(second.is_over());
}

TEST_F(Rank, StepsWithFilesAreFoundByName) {
  Past past;
  Recording first = next(past);
  first.record_file(FileStep::used, 5, {100, 1});
  first.record_file(FileStep::used, 6, {200, 2});
  first.record_file(FileStep::used, 5, {300, 3});
  first.record_file(FileStep::removed, 5, {});
  end(past, first);
  const Recording second = next(past);
  FileState state;
  ASSERT_TRUE(second.replay_file(FileStep::used, 5, 1, state));
  EXPECT_EQ(state.bytes, 300);
  EXPECT_EQ(state.changed_ns, 3);
  EXPECT_FALSE(second.replay_file(FileStep::used, 5, 2, state));
  EXPECT_FALSE(second.replay_file(FileStep::removed, 6, 0, state));
  EXPECT_TRUE(second.replay_file(FileStep::removed, 5, 0, state));
}

TEST_F(Rank, WhatWasClosedIsKnown) {
  Past past;
  Recording first = next(past);
  for (unsigned i : {0, 2}) first.record_closed(FileStep::closed, 7, i);
  end(past, first);
  Recording second = next(past);
  EXPECT_TRUE(second.was_closed(FileStep::closed, 7, 0));
  EXPECT_FALSE(second.was_closed(FileStep::closed, 7, 1));
  EXPECT_TRUE(second.was_closed(FileStep::closed, 7, 2));
  EXPECT_FALSE(second.was_closed(FileStep::closed_new, 7, 0));
  EXPECT_FALSE(second.was_closed(FileStep::closed, 6, 0));
  second.record_closed(FileStep::closed, 7, 2);
  EXPECT_TRUE(written.empty()) << "it is known already";
}

TEST_F(Rank, ContentsAreFoundByFileAndPlaceAndAreNoValues) {
  Past past;
  Recording first = next(past);
  const std::vector<std::byte> data(KeptPiece::bytes_max, std::byte{7});
  const KeptPiece begin{5, 4070, 99, 0}, end_of_it{5, 4070, 99, 4064}, other{5, 3, 98, 0};
  first.record_value(Call::parent_id, 1);
  first.record_kept(begin, data.data(), data.size());
  first.record_kept(end_of_it, data.data(), 6);
  first.record_file(FileStep::used, 5, {4070, 99});
  first.record_kept(other, data.data(), 3);
  first.record_value(Call::parent_id, 2);
  end(past, first);
  Recording second = next(past);
  std::uint64_t value = 0;
  ASSERT_TRUE(second.replay_value(Call::parent_id, value) && second.replay_value(Call::parent_id, value));
  EXPECT_EQ(value, 2u);
  std::size_t bytes = 0;
  for (int i = 0; i < 2; ++i) {
    ASSERT_NE(second.find_kept(other, bytes), nullptr);
    EXPECT_EQ(bytes, 3u);
    ASSERT_NE(second.find_kept(begin, bytes), nullptr);
    EXPECT_EQ(bytes, data.size());
    const std::byte* const rest = second.find_kept(end_of_it, bytes);
    ASSERT_NE(rest, nullptr);
    EXPECT_EQ(bytes, 6u);
    EXPECT_EQ(rest[5], std::byte{7});
  }
  EXPECT_EQ(second.find_kept({5, 4070, 98, 0}, bytes), nullptr);
  EXPECT_EQ(second.find_kept({6, 3, 98, 0}, bytes), nullptr);
}

TEST_F(Rank, LooksAtFilesAreFoundByNameAndNumber) {
  Past past;
  Recording first = next(past);
  const FileStatus status{.inode = 9, .mode = 0100600, .bytes = 1000};
  first.record_look({FileStep::looked, 5, 0}, 0, ENOENT, &status);
  first.record_file(FileStep::used, 5, {100, 1});
  first.record_look({FileStep::looked, 6, 0}, 0, 0, &status);
  first.record_look({FileStep::looked, 5, 1}, 0, 0, &status);
  first.record_look({FileStep::looked_at_link, 5, 0}, 0, EACCES, nullptr);
  first.record_look({FileStep::asked, 5, 0}, 4, 0, nullptr);
  EXPECT_EQ(written.size(), 4 * 32u + 2 * 112u);
  end(past, first);
  Recording second = next(past);
  std::int64_t error = 0;
  FileStatus said;
  FileState state;
  ASSERT_TRUE(second.replay_look({FileStep::looked, 5, 1}, 0, error, &said)) << "out of their order";
  EXPECT_EQ(error, 0);
  EXPECT_EQ(said.bytes, 1000);
  EXPECT_EQ(said.inode, 9u);
  ASSERT_TRUE(second.replay_look({FileStep::looked, 5, 0}, 0, error, &said));
  EXPECT_EQ(error, ENOENT);
  ASSERT_TRUE(second.replay_look({FileStep::looked_at_link, 5, 0}, 0, error, &said));
  EXPECT_EQ(error, EACCES);
  EXPECT_FALSE(second.replay_look({FileStep::looked, 5, 2}, 0, error, &said));
  ASSERT_TRUE(second.replay_look({FileStep::asked, 5, 0}, 4, error, nullptr));
  EXPECT_EQ(error, 0);
  ASSERT_TRUE(second.replay_look({FileStep::looked, 6, 0}, 0, error, &said));
  EXPECT_FALSE(second.replay_look({FileStep::looked, 6, 1}, 0, error, &said)) << "all have been made again";
  EXPECT_TRUE(second.replay_file(FileStep::used, 5, 0, state));
  EXPECT_THROW({ Recording r = next(past); r.replay_look({FileStep::asked, 5, 0}, 2, error, nullptr); }, std::runtime_error);
}

TEST_F(Rank, OtherCallsThanBeforeAreSeen) {
  Past past;
  Recording first = next(past);
  read(first, mono, 10);
  first.record_value(Call::process_id, 77);
  end(past, first);
  std::uint64_t value;
  EXPECT_THROW({ Recording r = next(past); read(r, real, 1); }, std::runtime_error);
  EXPECT_THROW({ Recording r = next(past); r.replay_value(Call::random_device, value); }, std::runtime_error);
  first.record_bytes(Call::random_bytes, "abcde", 5);
  past.events = written;
  past.events.pop_back();
  EXPECT_THROW({ Recording r = next(past); r.replay_value(Call::process_id, value); }, std::runtime_error) << "a damaged record";
}

}  // namespace
}  // namespace hf::recorder
