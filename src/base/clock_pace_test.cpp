#include "base/clock_pace.hpp"

#include <gtest/gtest.h>

namespace hf {
namespace {

// Reads in a row, as fast as they may be, until a time; each in the call after that of the one before, or `calls` later. Returns how many.
int reads_until(ClockPace& pace, std::int64_t& now, std::int64_t end, std::uint64_t& call, std::uint64_t calls) {
  int n = 0;
  for (; now < end; ++n) {
    now = std::max(now + 40, pace.earliest(now + 40, call += calls));
    pace.was_read(now);
  }
  return n;
}

TEST(ClockPace, WhoReadsNowAndThenNeverWaits) {
  ClockPace pace;
  for (std::int64_t now = 5000, call = 1; call < 1000; ++call, now += 1500) {
    EXPECT_LE(pace.earliest(now, static_cast<std::uint64_t>(call)), now);
    pace.was_read(now);
  }
}

TEST(ClockPace, TheFirstReadsOfARowAreFree) {
  ClockPace pace;
  std::int64_t now = 1'000'000;
  std::uint64_t call = 0;
  EXPECT_EQ(reads_until(pace, now, now + 40 * ClockPace::free_reads, call, 1), static_cast<int>(ClockPace::free_reads));
  EXPECT_EQ(pace.earliest(now + 40, ++call), now + ClockPace::rapid_ns);
}

TEST(ClockPace, WhoWaitsForATimeReadsAThousandTimesAndIsLateByAThousandth) {
  ClockPace pace;
  std::int64_t now = 1'000'000;
  std::uint64_t call = 0;
  for (std::int64_t wait : {1'000'000ll, 10'000'000ll, 1'000'000'000ll}) {
    const std::int64_t end = now + wait;
    EXPECT_LT(reads_until(pace, now, end, call, 1), 30'000) << wait;
    EXPECT_LE(now - end, std::min<std::int64_t>(wait / 900 + ClockPace::rapid_ns, ClockPace::step_max_ns)) << wait;
    now += 2 * ClockPace::rapid_ns;
  }
}

TEST(ClockPace, WithOtherCallsBetweenNobodyWaitsLonger) {
  ClockPace pace;
  std::int64_t now = 1'000'000;
  std::uint64_t call = 0;
  reads_until(pace, now, now + 100'000'000, call, 2);
  EXPECT_EQ(pace.earliest(now + 40, call += 2), now + ClockPace::rapid_ns);
}

}  // namespace
}  // namespace hf
