// Arrivals against a plain set: any order, any duplicates, each number taken once (design rule 2).
#include "core/match/numbers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/test_seed.hpp"

namespace hf::core::match {
namespace {

using Verdict = Arrivals::Verdict;

std::vector<std::uint64_t> shuffled_with_duplicates(std::mt19937_64& draw, std::uint64_t n) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < n; ++i) {
    for (std::uint64_t copies = 1 + (draw() % 3 == 0) * (draw() % 3); copies > 0; --copies) out.push_back(i);
  }
  std::shuffle(out.begin(), out.end(), draw);
  return out;
}

TEST(Arrivals, ByNumberTakesEachOnceInAnyOrder) {
  std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  for (int round = 0; round < 200; ++round) {
    Arrivals arrivals;
    std::set<std::uint64_t> taken;
    std::uint64_t n = 1 + draw() % 80;
    for (std::uint64_t number : shuffled_with_duplicates(draw, n)) {
      Verdict expected = taken.insert(number).second ? Verdict::take : Verdict::duplicate;
      ASSERT_EQ(arrivals.by_number(Sequence{number}), expected) << number;
      std::uint64_t below = 0;
      while (taken.contains(below)) ++below;
      ASSERT_EQ(arrivals.below(), below);
    }
    EXPECT_EQ(arrivals.below(), n);
  }
}

TEST(Arrivals, InOrderTakesOnlyTheNext) {
  std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  for (int round = 0; round < 200; ++round) {
    Arrivals arrivals;
    std::uint64_t next = 0;
    for (int i = 0; i < 200; ++i) {
      std::uint64_t number = draw() % (next + 3);
      Verdict expected = number < next ? Verdict::duplicate : number > next ? Verdict::early : Verdict::take;
      ASSERT_EQ(arrivals.in_order(Sequence{number}), expected);
      next += expected == Verdict::take;
      ASSERT_EQ(arrivals.below(), next);
    }
  }
}

// As the engine uses it: early ones are kept and offered again when their turn comes.
TEST(Arrivals, EarlyOnesOfferedAgainAreDeliveredInOrderOnce) {
  std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  for (int round = 0; round < 100; ++round) {
    Arrivals arrivals;
    std::set<std::uint64_t> early;
    std::vector<std::uint64_t> delivered;
    std::uint64_t n = 1 + draw() % 60;
    for (std::uint64_t number : shuffled_with_duplicates(draw, n)) {
      Verdict verdict = arrivals.in_order(Sequence{number});
      if (verdict == Verdict::early) early.insert(number);
      if (verdict != Verdict::take) continue;
      delivered.push_back(number);
      while (!early.empty() && *early.begin() == arrivals.below()) {
        ASSERT_EQ(arrivals.in_order(Sequence{*early.begin()}), Verdict::take);
        delivered.push_back(*early.begin());
        early.erase(early.begin());
      }
    }
    ASSERT_EQ(delivered.size(), n);
    EXPECT_TRUE(std::is_sorted(delivered.begin(), delivered.end()));
    EXPECT_TRUE(early.empty());
  }
}

// Messages of an orphan are taken away, and come again.
TEST(Arrivals, WhatIsForgottenIsTakenAgain) {
  Arrivals in_order;
  for (std::uint64_t n = 0; n < 5; ++n) in_order.in_order(Sequence{n});
  for (std::uint64_t n : {2, 3, 4}) in_order.forget(Sequence{n});
  EXPECT_EQ(in_order.below(), 2u);
  EXPECT_EQ(in_order.in_order(Sequence{1}), Verdict::duplicate);
  EXPECT_EQ(in_order.in_order(Sequence{3}), Verdict::early);
  for (std::uint64_t n : {2, 3, 4}) EXPECT_EQ(in_order.in_order(Sequence{n}), Verdict::take);
  Arrivals by_number;
  for (std::uint64_t n : {0, 1, 2, 3, 7}) by_number.by_number(Sequence{n});
  by_number.forget(Sequence{1});
  by_number.forget(Sequence{7});
  for (std::uint64_t n : {0, 2, 3}) EXPECT_EQ(by_number.by_number(Sequence{n}), Verdict::duplicate);
  for (std::uint64_t n : {7, 1, 4}) EXPECT_EQ(by_number.by_number(Sequence{n}), Verdict::take);
  EXPECT_EQ(by_number.below(), 5u);
}

}  // namespace
}  // namespace hf::core::match
