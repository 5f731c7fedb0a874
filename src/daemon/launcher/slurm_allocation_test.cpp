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

TEST(SlurmAllocation, SlotsAreTasksOrCores) {
  const std::vector<std::string> cores = {"SLURM_JOB_CPUS_PER_NODE=8,4", "SLURM_TASKS_PER_NODE=1(x2)"};
  EXPECT_EQ(slots_of_slurm_allocation(cores, 2), (std::vector<int>{8, 4}));
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), cores.begin(), cores.end());
    return more;
  };
  EXPECT_EQ(slots_of_slurm_allocation(with({"SLURM_CPUS_PER_TASK=3"}), 2), (std::vector<int>{2, 1}));
  EXPECT_EQ(slots_of_slurm_allocation(with({"SLURM_NTASKS=2"}), 2), (std::vector<int>{1, 1}));
  EXPECT_EQ(slots_of_slurm_allocation(with({"SLURM_NTASKS=2", "SLURM_STEP_ID=0"}), 2), (std::vector<int>{8, 4}));
  EXPECT_TRUE(slots_of_slurm_allocation(cores, 3).empty());
}

TEST(SlurmAllocation, OnlyInsideOfOne) {
  EXPECT_FALSE(in_slurm_allocation({"SLURM_CONF=/etc/slurm.conf"}));
  EXPECT_TRUE(in_slurm_allocation({"SLURM_JOB_ID=1", "SLURM_JOB_NODELIST=n[0-1]"}));
}

}  // namespace
}  // namespace hf::daemon
