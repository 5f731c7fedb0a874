#include "core/membership/watch.hpp"

#include <gtest/gtest.h>

namespace hf::core::membership {
namespace {

constexpr std::int64_t ms = 1'000'000;
const MembershipOptions options;

Instant at(std::int64_t milliseconds) {
  return Instant(milliseconds * ms);
}

TEST(Watch, RegularHeartbeatsBringTheThresholdToTheFloor) {
  Watch watch(at(0));
  for (int i = 0; i < 50; ++i) watch.on_heartbeat(at(100 * i));
  EXPECT_EQ(watch.threshold_ns(options), options.silence_floor_ns);
  watch.on_timeout(at(4900 + 399), options, true);
  EXPECT_FALSE(watch.suspected());
  watch.on_timeout(at(4900 + 400), options, true);
  EXPECT_TRUE(watch.suspected());
}

TEST(Watch, IrregularOnesRaiseItUpToTheCeiling) {
  Watch slightly(at(0)), wildly(at(0));
  for (int i = 0; i < 50; ++i) {
    slightly.on_heartbeat(at(100 * i + (i % 2 ? 60 : 0)));
    wildly.on_heartbeat(at(300 * i + (i % 2 ? 200 : 0)));
  }
  EXPECT_GT(slightly.threshold_ns(options), options.silence_floor_ns);
  EXPECT_LT(slightly.threshold_ns(options), options.silence_ceiling_ns);
  EXPECT_EQ(wildly.threshold_ns(options), options.silence_ceiling_ns);
}

TEST(Watch, UntilTheGapsAreKnownTheCeilingCounts) {
  Watch watch(at(0));
  for (int i = 0; i < 3; ++i) watch.on_heartbeat(at(100 * i));
  EXPECT_EQ(watch.threshold_ns(options), options.silence_ceiling_ns);
}

TEST(Watch, WhoWasNeverHeardHasTheTimeOfTheStartOrOfAFirstContact) {
  Watch watch(at(0));
  EXPECT_EQ(watch.deadline(options, false), at(60'000));
  watch.on_started(at(5'000));
  EXPECT_EQ(watch.deadline(options, true), at(5'400));
}

TEST(Watch, AnyFrameIsASignOfLife) {
  Watch watch(at(0));
  for (int i = 0; i < 10; ++i) watch.on_heartbeat(at(100 * i));
  watch.on_timeout(at(1300), options, true);
  ASSERT_TRUE(watch.suspected());
  watch.on_frame(at(1301));
  EXPECT_FALSE(watch.suspected());
}

TEST(Watch, AClosedConnectionIsDeathForGood) {
  Watch watch(at(0));
  watch.on_heartbeat(at(0));
  watch.on_closed();
  EXPECT_TRUE(watch.suspected());
  watch.on_heartbeat(at(100));
  EXPECT_TRUE(watch.suspected());
}

TEST(Watch, WhatTheWatcherSleptThroughDoesNotCount) {
  Watch watch(at(0));
  for (int i = 0; i < 10; ++i) watch.on_heartbeat(at(100 * i));
  watch.forgive(2000 * ms, at(3000));
  EXPECT_EQ(watch.deadline(options, true), at(900 + 2000 + 400));
}

TEST(Watch, ASilentAgentWhoseHostAnswersHasMoreTime) {
  Watch busy(at(0));
  for (int i = 0; i < 10; ++i) busy.on_heartbeat(at(100 * i));
  for (int i = 10; i < 21; ++i) {
    busy.on_host(at(100 * i));
    busy.on_timeout(at(100 * i + 50), options, true);
    EXPECT_FALSE(busy.suspected());
  }
  busy.on_host(at(2099));
  EXPECT_EQ(busy.deadline(options, true), at(2100));  // 1.2 s after the last heartbeat, whatever its host says
  busy.on_timeout(at(2100), options, true);
  EXPECT_TRUE(busy.suspected());
}

TEST(Watch, OnceItsHostIsSilentTooTheTimeRunsFromItsLastAnswer) {
  Watch lost(at(0));
  for (int i = 0; i < 10; ++i) lost.on_heartbeat(at(100 * i));
  lost.on_host(at(1000));
  EXPECT_EQ(lost.deadline(options, true), at(1400));
  lost.on_host(at(990));  // older news
  EXPECT_EQ(lost.deadline(options, true), at(1400));
}

// By default: the last heartbeat before the death, the longest silence, and the head's time to gather: within a second.
TEST(Watch, TheDefaultsFindADeathWithinASecond) {
  EXPECT_LE(options.silence_ceiling_ns + options.gather_ns + options.decision_ns, 950 * ms);
  EXPECT_LE(options.agent_silence_ns + options.gather_ns + options.decision_ns, 1400 * ms);
}

}  // namespace
}  // namespace hf::core::membership
