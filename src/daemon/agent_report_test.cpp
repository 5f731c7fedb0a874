#include "daemon/agent_report.hpp"

#include <gtest/gtest.h>

namespace hf::daemon {
namespace {

AgentReport some() {
  AgentReport out;
  out.head.generation = 7;
  out.head.input_taken = 99;
  out.hosted = {{2, 5, 1, 4, 3}, {0, 1, 0, 0, 0}};
  out.heard = {{1, 9}, {3, 0}};
  out.sought = {1};
  return out;
}

std::vector<std::byte> written(const AgentReport& report) {
  std::vector<std::byte> out;
  encode(report, out);
  return out;
}

TEST(AgentReport, ComesThrough) {
  auto got = decode_report(written(some()), 4);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->head.generation, 7u);
  EXPECT_EQ(got->head.input_taken, 99u);
  ASSERT_EQ(got->hosted.size(), 2u);
  EXPECT_EQ(got->hosted[0].group, 4);
  EXPECT_EQ(got->hosted[0].log_base, 3u);
  ASSERT_EQ(got->heard.size(), 2u);
  EXPECT_EQ(got->heard[0].incarnation, 9u);
  EXPECT_EQ(got->sought, std::vector<std::int32_t>{1});
}

TEST(AgentReport, OfAnotherJobIsNone) {
  EXPECT_FALSE(decode_report(written(some()), 3)) << "there is no rank 3";
  AgentReport twice = some();
  twice.hosted[1].rank = 2;
  EXPECT_FALSE(decode_report(written(twice), 4));
  twice = some();
  twice.sought = {1, 1};
  EXPECT_FALSE(decode_report(written(twice), 4));
  std::vector<std::byte> bytes = written(some());
  bytes.push_back({});
  EXPECT_FALSE(decode_report(bytes, 4)) << "more than it says";
  bytes.pop_back();
  while (!bytes.empty()) {
    bytes.pop_back();
    EXPECT_FALSE(decode_report(bytes, 4)) << bytes.size();
  }
}

}  // namespace
}  // namespace hf::daemon
