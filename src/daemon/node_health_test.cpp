#include "daemon/node_health.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>

namespace hf::daemon {
namespace {

Job job_of(int nodes, int ranks, int spares) {
  Job job;
  job.programs.push_back({ranks, "/bin/true"});
  job.node_count = nodes;
  job.spare_count = spares;
  for (int rank = 0; rank < ranks; ++rank) job.node_of_rank.push_back(rank < ranks - nodes ? 0 : nodes - (ranks - rank));
  job.log_memory_bytes = 64 << 20;
  job.log_ready_bytes = 32 << 20;
  job.log_disk_bytes = log_disk_unlimited;
  job.log_directory = "/var/tmp";
  return job;
}

TEST(NodeHealth, AnEventLoggerNeedsNoLogs) {
  Job job = job_of(3, 10, 1);
  job.event_logger_count = 1;
  EXPECT_EQ(needs_at_start(job, 3).ranks, 8);
  EXPECT_EQ(needs_at_start(job, 4).ranks, 0);
  EXPECT_EQ(needs_at_start(job, 4).memory_bytes, 0u);
  EXPECT_EQ(needs_at_start(job, 4).log_directory, "");
  EXPECT_GT(needs_at_start(job, 4).segment_bytes, 0u);
}

TEST(NodeHealth, ASpareNodeMustBeFitForAnyOther) {
  const Job job = job_of(3, 10, 1);
  EXPECT_EQ(needs_at_start(job, 0).ranks, 8);
  EXPECT_EQ(needs_at_start(job, 1).ranks, 1);
  EXPECT_EQ(needs_at_start(job, 3).ranks, 8);
  EXPECT_GT(needs_at_start(job, 3).memory_bytes, 8ull * (32 << 20));
}

TEST(NodeHealth, WithoutLogsLittleIsNeeded) {
  Job job = job_of(1, 4, 0);
  EXPECT_EQ(needs_of(job, 4).log_directory, "/var/tmp");
  job.log_disk_bytes = 0;
  EXPECT_EQ(needs_of(job, 4).log_directory, "");
  job.protocol = wire::Protocol::none;
  EXPECT_LT(needs_of(job, 4).memory_bytes, 8u << 20);
}

TEST(NodeHealth, WhatIsMissingIsSaid) {
  NodeNeeds needs = needs_at_start(job_of(2, 4, 0), 0);
  needs.disk_bytes = 1 << 20;
  NodeState good;
  EXPECT_EQ(why_unfit(needs, good), "");
  auto said = [&](auto change) {
    NodeState state = good;
    change(state);
    return why_unfit(needs, state);
  };
  EXPECT_EQ(said([](NodeState& s) { s.clock_step_ns = 0; }), "its monotonic clock stands still");
  EXPECT_NE(said([](NodeState& s) { s.clock_step_ns = 10'000'000; }).find("every 10 ms"), std::string::npos);
  EXPECT_NE(said([](NodeState& s) { s.open_files = 20; }).find("20 more files"), std::string::npos);
  EXPECT_NE(said([](NodeState& s) { s.file_bytes = 4096; }).find("ulimit -f"), std::string::npos);
  EXPECT_NE(said([](NodeState& s) { s.process_bytes = 1 << 20; }).find("ulimit -v"), std::string::npos);
  EXPECT_NE(said([](NodeState& s) { s.memory_bytes = 5 << 20; }).find("5 MiB of memory are left"), std::string::npos);
  EXPECT_EQ(said([](NodeState& s) { s.memory_file_error = "no memfd"; }), "no memfd");
  EXPECT_NE(said([](NodeState& s) { s.directory_error = "no such"; }).find("no such (--log-dir"), std::string::npos);
  EXPECT_NE(said([](NodeState& s) { s.disk_bytes = 0; }).find("/var/tmp is full"), std::string::npos);
}

TEST(NodeHealth, ThisMachineIsFit) {
  NodeNeeds needs = needs_at_start(job_of(1, 1, 0), 0);
  needs.log_directory = std::filesystem::temp_directory_path();
  EXPECT_EQ(why_unfit(needs, look_at_node(needs)), "");
  needs.memory_bytes = UINT64_MAX - 1;
  EXPECT_NE(why_unfit(needs, look_at_node(needs)), "");
}

TEST(NodeHealth, ADirectoryThatIsNotThere) {
  NodeNeeds needs = needs_at_start(job_of(1, 1, 0), 0);
  needs.log_directory = "/no/such/directory";
  EXPECT_NE(why_unfit(needs, look_at_node(needs)).find("/no/such/directory: No such file"), std::string::npos);
}

TEST(NodeHealth, LimitsOfTheProcessAreSeen) {
  NodeNeeds needs = needs_at_start(job_of(1, 1, 0), 0);
  needs.log_directory.clear();
  const std::array limits{std::tuple{RLIMIT_NOFILE, rlim_t{30}, "ulimit -n"}, std::tuple{RLIMIT_FSIZE, rlim_t{4096}, "ulimit -f"}};
  for (auto [resource, value, word] : limits) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(resource, &before), 0);
    rlimit low{value, before.rlim_max};
    ASSERT_EQ(::setrlimit(resource, &low), 0);
    const std::string why = why_unfit(needs, look_at_node(needs));
    ASSERT_EQ(::setrlimit(resource, &before), 0);
    EXPECT_NE(why.find(word), std::string::npos) << why;
  }
}

}  // namespace
}  // namespace hf::daemon
