#include "mpi/group.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "mpi/api.hpp"
#include "mpi/predefined.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

constexpr int ident = 201, similar = 203, unequal = 204;

// A group of these job-wide ranks; this process is rank 2 of the job.
struct Groups : testing::Test {
  Process p;
  Group group_of(std::vector<int> ranks) {
    std::vector<Rank> members;
    for (int rank : ranks) members.push_back(Rank(rank));
    return Group(std::move(members), Rank(2));
  }
  std::vector<int> members(Group*& group) {
    std::vector<int> out;
    for (Rank rank : group->members) out.push_back(rank.value);
    self = group->self;
    EXPECT_EQ(group_free(p, group), success);
    EXPECT_EQ(group, nullptr);
    return out;
  }
  int self = 0;
  Group* made = nullptr;
};

TEST_F(Groups, SetOperations) {
  Group a = group_of({4, 2, 7, 1}), b = group_of({9, 7, 2, 0});
  ASSERT_EQ(group_union(p, a, b, made), success);
  EXPECT_EQ(members(made), (std::vector<int>{4, 2, 7, 1, 9, 0}));
  EXPECT_EQ(self, 1);
  ASSERT_EQ(group_intersection(p, a, b, made), success);
  EXPECT_EQ(members(made), (std::vector<int>{2, 7}));
  EXPECT_EQ(self, 0);
  ASSERT_EQ(group_difference(p, a, b, made), success);
  EXPECT_EQ(members(made), (std::vector<int>{4, 1}));
  EXPECT_EQ(self, undefined);
  ASSERT_EQ(group_difference(p, a, a, made), success);
  EXPECT_EQ(made, empty_group());
  EXPECT_EQ(members(made), (std::vector<int>{}));
}

TEST_F(Groups, InclusionAndExclusion) {
  Group a = group_of({10, 11, 2, 13, 14, 15, 16, 17, 18, 19});
  const int ranks[] = {5, 2, 0};
  ASSERT_EQ(group_incl(p, a, 3, ranks, made), success);
  EXPECT_EQ(members(made), (std::vector<int>{15, 2, 10}));
  EXPECT_EQ(self, 1);
  ASSERT_EQ(group_excl(p, a, 3, ranks, made), success);
  EXPECT_EQ(members(made), (std::vector<int>{11, 13, 14, 16, 17, 18, 19}));
  EXPECT_EQ(self, undefined);
  int ranges[][3] = {{0, 5, 2}, {9, 6, -3}};
  ASSERT_EQ(group_range_incl(p, a, 2, ranges, made), success);
  EXPECT_EQ(members(made), (std::vector<int>{10, 2, 14, 19, 16}));
  ASSERT_EQ(group_range_excl(p, a, 2, ranges, made), success);
  EXPECT_EQ(members(made), (std::vector<int>{11, 13, 15, 17, 18}));
  int beyond[][3] = {{1, 10, 4}, {8, -1, -4}};  // the last ones named are 9 and 0
  ASSERT_EQ(group_range_incl(p, a, 2, beyond, made), success);
  EXPECT_EQ(members(made), (std::vector<int>{11, 15, 19, 18, 14, 10}));
}

TEST_F(Groups, BadRanksAreRefused) {
  Group a = group_of({0, 1, 2});
  const int twice[] = {1, 1}, outside[] = {3};
  EXPECT_EQ(group_incl(p, a, 2, twice, made), err_rank);
  EXPECT_EQ(group_excl(p, a, 1, outside, made), err_rank);
  int still[][3] = {{0, 2, 0}}, far[][3] = {{0, 2147483647, 1}};
  EXPECT_EQ(group_range_incl(p, a, 1, still, made), err_arg);
  EXPECT_EQ(group_range_incl(p, a, 1, far, made), err_rank);
}

TEST_F(Groups, Comparison) {
  Group a = group_of({3, 1, 2}), b = group_of({1, 2, 3}), c = group_of({1, 2, 4});
  int result = 0;
  group_compare(p, a, a, result);
  EXPECT_EQ(result, ident);
  group_compare(p, a, b, result);
  EXPECT_EQ(result, similar);
  group_compare(p, a, c, result);
  EXPECT_EQ(result, unequal);
}

TEST_F(Groups, Translation) {
  Group a = group_of({3, 1, 2}), b = group_of({1, 2, 4});
  const int from[] = {0, 1, proc_null, 2};
  int to[4];
  ASSERT_EQ(group_translate_ranks(p, a, 4, from, b, to), success);
  EXPECT_EQ(to[0], undefined);
  EXPECT_EQ(to[1], 0);
  EXPECT_EQ(to[2], proc_null);
  EXPECT_EQ(to[3], 1);
  const int bad[] = {3};
  EXPECT_EQ(group_translate_ranks(p, a, 1, bad, b, to), err_rank);
}

TEST_F(Groups, LargeGroupsAreFast) {
  constexpr int n = 200'000;
  std::vector<int> backwards(n);
  std::iota(backwards.rbegin(), backwards.rend(), 0);
  Group a = group_of(backwards);
  EXPECT_EQ(a.self, n - 3);
  Group b = group_of({5});
  ASSERT_EQ(group_intersection(p, a, b, made), success);
  EXPECT_EQ(members(made), (std::vector<int>{5}));
  std::vector<int> forwards(backwards.rbegin(), backwards.rend());
  Group c = group_of(forwards);
  int result = 0;
  group_compare(p, a, c, result);
  EXPECT_EQ(result, similar);
}

}  // namespace
}  // namespace hf::mpi
