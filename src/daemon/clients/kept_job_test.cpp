#include "daemon/clients/kept_job.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace hf::daemon {
namespace {

class KeptJobTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/holdfast-kept-job-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    path_ = name;
    ASSERT_EQ(::chmod(name, 0700), 0);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  std::string path_;
};

TEST_F(KeptJobTest, TheEndIsWrittenWhereNothingNewCanBe) {
  Result<KeptJob> job = open_kept_job(path_);
  ASSERT_TRUE(job);
  ASSERT_TRUE(job->write_record({{"id", "x"}, {"state", "running"}}));
  std::filesystem::create_directory(path_ + "/job.json.new");  // no file can have that name, as on a full disk
  std::filesystem::create_directory(path_ + "/job.json.new/x");
  ASSERT_TRUE(job->write_record({{"id", "x"}, {"state", "ended"}, {"exit_code", 3}}));
  auto record = job->read_record();
  ASSERT_TRUE(record);
  EXPECT_EQ(*record, (Json{{"id", "x"}, {"state", "ended"}, {"exit_code", 3}}));
  EXPECT_FALSE(job->write_record({{"id", std::string(1000, 'x')}}));  // no room for that
  EXPECT_EQ(number_member(*job->read_record(), "exit_code"), 3);
}

}  // namespace
}  // namespace hf::daemon
