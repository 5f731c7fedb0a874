#include "daemon/launcher/slurm_allocation.hpp"

#include <gtest/gtest.h>

namespace hf::daemon {
namespace {

TEST(SlurmAllocation, Counts) {
  EXPECT_EQ(expand_counts("4(x2),1"), (std::vector<int>{4, 4, 1}));
  EXPECT_EQ(expand_counts("16"), (std::vector<int>{16}));
  for (const char* wrong : {"", "x", "4(x", "4(x2", "4 4", "0", "4(x-1)", "4(x99999999)"}) {
    EXPECT_TRUE(expand_counts(wrong).empty()) << wrong;
  }
}

TEST(SlurmAllocation, OnlyInsideOfOne) {
  EXPECT_FALSE(in_slurm_allocation({"SLURM_CONF=/etc/slurm.conf"}));
  EXPECT_TRUE(in_slurm_allocation({"SLURM_JOB_ID=1", "SLURM_JOB_NODELIST=n[0-1]"}));
}

}  // namespace
}  // namespace hf::daemon
