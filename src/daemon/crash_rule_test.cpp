#include "daemon/crash_rule.hpp"

#include <gtest/gtest.h>
#include <signal.h>

namespace hf::daemon {
namespace {

using Verdict = CrashRule::Verdict;

TEST(CrashRule, OwnSignalAtTheSameCallTwiceRunningIsAFault) {
  CrashRule rule(20);
  EXPECT_EQ(rule.on_death(SIGSEGV, 7), Verdict::restart);
  EXPECT_EQ(rule.on_death(SIGABRT, 7), Verdict::faulty);
}

TEST(CrashRule, AnotherCallOrASigkillBetweenIsNot) {
  CrashRule rule(20);
  EXPECT_EQ(rule.on_death(SIGSEGV, 7), Verdict::restart);
  EXPECT_EQ(rule.on_death(SIGSEGV, 8), Verdict::restart);
  EXPECT_EQ(rule.on_death(SIGKILL, 8), Verdict::restart);
  EXPECT_EQ(rule.on_death(SIGSEGV, 8), Verdict::restart);
  EXPECT_EQ(rule.on_death(SIGSEGV, 8), Verdict::faulty);
}

TEST(CrashRule, SigkillOnlyCounts) {
  CrashRule rule(3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rule.on_death(SIGKILL, 1), Verdict::restart);
  EXPECT_EQ(rule.on_death(SIGKILL, 1), Verdict::too_many);
  EXPECT_EQ(rule.restarts(), 3);
}

TEST(CrashRule, NoRestartsAllowed) {
  EXPECT_EQ(CrashRule(0).on_death(SIGKILL, 1), Verdict::too_many);
}

}  // namespace
}  // namespace hf::daemon
