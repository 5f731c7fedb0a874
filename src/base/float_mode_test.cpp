#include "base/float_mode.hpp"

#include <gtest/gtest.h>

namespace hf {
namespace {

double third() {
  volatile double one = 1, three = 3;
  return one / three;
}

TEST(FloatMode, IsSetAndComesBack) {
  const FloatMode nearest = FloatMode::current();
  const double before = third();
  std::fesetround(FE_UPWARD);
  const FloatMode upward = FloatMode::current();
  EXPECT_NE(nearest, upward);
  const double up = third();
  EXPECT_GT(up, before);
  {
    const WithFloatMode set(nearest);
    EXPECT_EQ(third(), before);
    EXPECT_EQ(FloatMode::current(), nearest);
  }
  EXPECT_EQ(third(), up);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
}

TEST(FloatMode, WhatWasRaisedStaysSo) {
  const FloatMode nearest = FloatMode::current();
  std::fesetround(FE_DOWNWARD);
  std::feclearexcept(FE_ALL_EXCEPT);
  {
    const WithFloatMode set(nearest);
    third();
  }
  EXPECT_TRUE(std::fetestexcept(FE_INEXACT));
  std::fesetround(FE_TONEAREST);
}

}  // namespace
}  // namespace hf
