#include "daemon/job.hpp"

#include <gtest/gtest.h>

namespace hf::daemon {
namespace {

Job make_job() {
  Job job;
  job.programs.push_back({2, "/bin/a", {"a", "x"}, {"A=1"}, "/tmp"});
  job.programs.push_back({3, "/bin/b", {"b"}, {}, "/"});
  job.node_count = 2;
  job.spare_count = 1;
  job.event_logger_count = 1;
  job.event_copies = 2;
  job.nodes = {{"one"}, {"two"}, {"three"}, {"four"}};
  job.node_of_rank = {0, 1, 0, 1, 0};
  job.bind_to = BindTo::socket;
  job.report_bindings = true;
  job.sender_log = false;
  job.injections.push_back({});
  return job;
}

std::vector<std::byte> encoded(const Job& job) {
  std::vector<std::byte> out;
  encode(job, out);
  return out;
}

TEST(Job, TheMapTravels) {
  Job job;
  ASSERT_TRUE(decode(encoded(make_job()), job));
  EXPECT_EQ(job.node_of_rank, make_job().node_of_rank);
  EXPECT_EQ(job.node_count, 2);
  EXPECT_EQ(job.nodes.size(), 4u);
  EXPECT_EQ(job.event_logger_count, 1);
  EXPECT_EQ(job.event_copies, 2);
  EXPECT_FALSE(job.is_event_logger(2));
  EXPECT_TRUE(job.is_event_logger(3));
  EXPECT_EQ(job.node_name(1), "two");
  EXPECT_EQ(job.bind_to, BindTo::socket);
  EXPECT_TRUE(job.report_bindings);
  EXPECT_FALSE(job.sender_log);
  EXPECT_FALSE(job.recovers());
  EXPECT_EQ(encoded(job), encoded(make_job()));
}

TEST(Job, LocalRanksNeedNotBeContiguous) {
  const Job job = make_job();
  EXPECT_EQ(job.local_rank(4), 2);
  EXPECT_EQ(job.local_rank(3), 1);
  EXPECT_EQ(job.local_size(0), 3);
  EXPECT_EQ(job.local_size(1), 2);
}

TEST(Job, DamagedBytesAreRefused) {
  const auto bytes = encoded(make_job());
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    Job job;
    EXPECT_FALSE(decode(Bytes(bytes).first(n), job)) << n;
  }
  for (int node : {2, -1}) {
    Job job = make_job(), out;
    job.node_of_rank[3] = node;
    EXPECT_FALSE(decode(encoded(job), out));
  }
  for (int copies : {0, -1, event_copies_max + 1}) {
    Job job = make_job(), out;
    job.event_copies = copies;
    EXPECT_FALSE(decode(encoded(job), out));
  }
  for (int spares : {0, 2, -1}) {
    Job job = make_job(), out;
    job.spare_count = spares;
    EXPECT_FALSE(decode(encoded(job), out));
    job = make_job();
    job.event_logger_count = spares;
    EXPECT_FALSE(decode(encoded(job), out));
  }
}

}  // namespace
}  // namespace hf::daemon
