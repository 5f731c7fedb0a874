#include "rail/tcp/inflow.hpp"

#include <gtest/gtest.h>

namespace hf::rail::tcp {
namespace {

constexpr std::int64_t us = 1000;

void bring(Inflow& flow, unsigned reads) {
  for (unsigned i = 0; i < reads; ++i) flow.on_read(true);
}

// Each `apart` one that brings data, as many as it takes.
std::int64_t flow_on(Inflow& flow, std::int64_t now, std::int64_t apart) {
  for (int i = 0; i < 2 * Inflow::close_reads; ++i) flow.on_read(true, now += apart);
  return now;
}

TEST(Inflow, WhatIsAnsweredIsReadAsItComes) {
  Inflow flow;
  for (int i = 0; i < 1000; ++i) {
    bring(flow, 4);
    EXPECT_FALSE(flow.one_way());
    flow.on_sent();
  }
}

TEST(Inflow, ReadsThatFindNothingAreNoFlow) {
  Inflow flow;
  for (unsigned i = 0; i < 10 * Inflow::one_way_reads; ++i) flow.on_read(false);
  EXPECT_FALSE(flow.one_way());
}

TEST(Inflow, ADenseFlowIsReadWithPauses) {
  Inflow flow;
  bring(flow, Inflow::one_way_reads);
  ASSERT_TRUE(flow.one_way());
  EXPECT_TRUE(flow.may_read(0)) << "nothing is known of it yet";
  const std::int64_t now = flow_on(flow, 1'000'000 * us, 2 * us);
  EXPECT_FALSE(flow.may_read(now + Inflow::pause_ns - 1));
  EXPECT_TRUE(flow.may_read(now + Inflow::pause_ns));
  flow.on_read(false, now + Inflow::pause_ns);
  EXPECT_FALSE(flow.may_read(now + Inflow::pause_ns + 1)) << "a read that found nothing begins a pause too";
}

TEST(Inflow, AThinFlowIsReadAsItComes) {
  Inflow flow;
  bring(flow, Inflow::one_way_reads);
  const std::int64_t now = flow_on(flow, 1'000'000 * us, Inflow::close_ns + 1);
  EXPECT_TRUE(flow.may_read(now));
}

TEST(Inflow, AFlowThatEndsIsReadAsItComesAgain) {
  Inflow flow;
  bring(flow, Inflow::one_way_reads);
  const std::int64_t now = flow_on(flow, 1'000'000 * us, us) + Inflow::close_ns + 1;
  flow.on_read(false, now);
  EXPECT_TRUE(flow.may_read(now + 1));
}

TEST(Inflow, AnAnswerToAWholeWindowIsNoAnswerToEach) {
  Inflow flow;
  bring(flow, Inflow::one_way_reads);
  for (int i = 0; i < 200; ++i) flow.on_read(true, i * us);
  flow.on_sent();
  EXPECT_TRUE(flow.one_way());
  for (int i = 0; i < 10; ++i) flow.on_sent();
  EXPECT_FALSE(flow.one_way());
}

}  // namespace
}  // namespace hf::rail::tcp
