#include <gtest/gtest.h>

#include "mpi/api.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

std::vector<int> divided(int nodes, std::vector<int> dims) {
  Process p;
  const int code = dims_create(p, nodes, static_cast<int>(dims.size()), dims.data());
  return code == success ? dims : std::vector<int>{-code};
}
using Dims = std::vector<int>;

TEST(DimsCreate, BalancesTheOpenDimensions) {
  EXPECT_EQ(divided(6, {0, 0}), (Dims{3, 2}));
  EXPECT_EQ(divided(7, {0, 0}), (Dims{7, 1}));
  EXPECT_EQ(divided(6, {0, 3, 0}), (Dims{2, 3, 1}));
  EXPECT_EQ(divided(16, {0, 0}), (Dims{4, 4}));
  EXPECT_EQ(divided(36, {0, 0, 0}), (Dims{4, 3, 3}));
  EXPECT_EQ(divided(1024, {0, 0, 0, 0}), (Dims{8, 8, 4, 4}));
  EXPECT_EQ(divided(1, {0, 0, 0}), (Dims{1, 1, 1}));
  EXPECT_EQ(divided(1396755360, {0, 0}), (Dims{37620, 37128}));
}

TEST(DimsCreate, FindsWhatTheNextPrimeFactorGreedilyMisses) {
  EXPECT_EQ(divided(72, {0, 0, 0}), (Dims{6, 4, 3}));
  EXPECT_EQ(divided(30030, {0, 0, 0}), (Dims{35, 33, 26}));
}

TEST(DimsCreate, RefusesWhatCannotBe) {
  EXPECT_EQ(divided(7, {0, 2}), (Dims{-err_dims}));
  EXPECT_EQ(divided(4, {-1, 0}), (Dims{-err_dims}));
  EXPECT_EQ(divided(4, {2}), (Dims{-err_dims}));
  EXPECT_EQ(divided(0, {0}), (Dims{-err_arg}));
}

}  // namespace
}  // namespace hf::mpi
