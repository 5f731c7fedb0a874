#include "base/interval_set.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/test_seed.hpp"

namespace hf {
namespace {

TEST(IntervalSet, KeepsARunAsOneInterval) {
  IntervalSet set;
  for (std::uint64_t n = 0; n < 1000; n += 2) set.insert(n);
  EXPECT_EQ(set.intervals(), 500u);
  for (std::uint64_t n = 1; n < 1000; n += 2) set.insert(n);
  EXPECT_EQ(set.intervals(), 1u);
  EXPECT_TRUE(set.contains(0) && set.contains(999));
  EXPECT_FALSE(set.contains(1000));
  set.insert(UINT64_MAX);
  set.insert(UINT64_MAX - 1);
  EXPECT_EQ(set.intervals(), 2u);
  EXPECT_TRUE(set.contains(UINT64_MAX));
}

TEST(IntervalSet, AgreesWithAPlainSet) {
  std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  IntervalSet set;
  std::set<std::uint64_t> model;
  for (int i = 0; i < 3000; ++i) {
    std::uint64_t n = draw() % 2000;
    set.insert(n);
    model.insert(n);
    std::uint64_t probe = draw() % 2001;
    ASSERT_EQ(set.contains(probe), model.contains(probe)) << probe;
  }
  std::size_t runs = 0;
  for (std::uint64_t n : model) runs += !model.contains(n + 1);
  EXPECT_EQ(set.intervals(), runs);
}

}  // namespace
}  // namespace hf
