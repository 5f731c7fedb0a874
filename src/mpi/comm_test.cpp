#include "mpi/comm.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "mpi/api.hpp"
#include "mpi/comm_make.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

Group* group_of(std::vector<int> members, int self) {
  auto* group = new Group;
  for (int member : members) group->members.push_back(Rank(member));
  group->self = self;
  return group;
}

std::vector<int> members_of(const Group& group) {
  std::vector<int> members;
  for (Rank member : group.members) members.push_back(member.value);
  return members;
}

// Rank 1 of the local group; the remote one's first member has the lower job-wide number.
struct Inter : testing::Test {
  Process p;
  Comm comm;
  Inter() {
    comm.group = group_of({4, 2, 6}, 1);
    comm.remote = group_of({3, 5}, undefined);
  }
};

TEST_F(Inter, PeersAreThoseOfTheRemoteGroup) {
  EXPECT_EQ(comm.rank(), 1);
  EXPECT_EQ(comm.size(), 3);
  EXPECT_EQ(comm.peers().size(), 2);
  EXPECT_EQ(comm.world(1), Rank(5));
}

TEST_F(Inter, WhoIsWhatInACollectiveWithARoot) {
  EXPECT_TRUE(comm.is_root(root) && !comm.is_leaf(root) && !comm.looks_on(root));
  EXPECT_TRUE(comm.looks_on(proc_null) && !comm.is_root(proc_null) && !comm.is_leaf(proc_null));
  EXPECT_TRUE(comm.is_leaf(1) && !comm.is_root(1) && !comm.looks_on(1));  // also of the root that has this one's rank
  release(std::exchange(comm.remote, nullptr));
  EXPECT_TRUE(comm.is_root(1) && comm.is_leaf(1));
  EXPECT_TRUE(!comm.is_root(0) && comm.is_leaf(0) && !comm.looks_on(proc_null));
}

TEST_F(Inter, BothGroupsAreListedAlikeOnBothSides) {
  EXPECT_FALSE(comm.is_lower());
  Group* here = both_groups(comm, comm.is_lower());
  std::swap(comm.group, comm.remote);  // as rank 0 of the other group has it
  comm.group->self = 0;
  Group* there = both_groups(comm, comm.is_lower());
  EXPECT_EQ(members_of(*here), (std::vector{3, 5, 4, 2, 6}));
  EXPECT_EQ(members_of(*here), members_of(*there));
  EXPECT_EQ(here->self, 3);
  EXPECT_EQ(there->self, 0);
  release(here);
  release(there);
}

TEST_F(Inter, ComparisonTakesTheWorseOfBothGroups) {
  Comm other;
  other.group = group_of({4, 2, 6}, 1);
  other.remote = group_of({5, 3}, undefined);
  int result = 0;
  comm_compare(p, comm, other, result);
  EXPECT_EQ(result, 203);  // MPI_SIMILAR
  std::swap(other.remote->members[0], other.remote->members[1]);
  comm_compare(p, comm, other, result);
  EXPECT_EQ(result, 202);  // MPI_CONGRUENT
  release(std::exchange(other.remote, nullptr));
  comm_compare(p, comm, other, result);
  EXPECT_EQ(result, 204);  // MPI_UNEQUAL
}

}  // namespace
}  // namespace hf::mpi
