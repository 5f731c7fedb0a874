// The gate against a plain statement of design rule 3: a frame that tells of this rank's state leaves when the events
// before it are stable, and frames leave in the order offered.
#include "core/vprotocol/gate.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/test_seed.hpp"

namespace hf::core::vprotocol {
namespace {

using wire::FrameKind;

TEST(Gate, WhatIsGated) {
  EXPECT_TRUE(is_gated(FrameKind::eager));
  EXPECT_TRUE(is_gated(FrameKind::rendezvous)) << "its envelope alone lets the receiver probe or match";
  EXPECT_TRUE(is_gated(FrameKind::matched));
  EXPECT_FALSE(is_gated(FrameKind::clear_to_send));
  EXPECT_FALSE(is_gated(FrameKind::data));
  EXPECT_FALSE(is_gated(FrameKind::credit));
  EXPECT_FALSE(is_gated(FrameKind::events));
}

TEST(Gate, StableNeverGoesBack) {
  Gate gate;
  gate.on_event();
  gate.on_event();
  gate.on_stable(2);
  gate.on_stable(1);
  EXPECT_TRUE(gate.open());
  EXPECT_EQ(gate.stable(), 2u);
}

TEST(Gate, FramesLeaveInOrderAndNeverBeforeTheirEvents) {
  std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  for (int round = 0; round < 200; ++round) {
    Gate gate;
    std::uint64_t events = 0, stable = 0, offered = 0, left = 0;
    std::vector<std::uint64_t> needs;
    auto leaves = [&](Gate::Token token) {
      ASSERT_EQ(token, left++);
      ASSERT_LE(needs[token], stable);
    };
    for (int i = 0; i < 300; ++i) {
      switch (draw() % 4) {
        case 0: gate.on_event(), ++events; break;
        case 1: stable += events > stable ? draw() % (events - stable + 1) : 0, gate.on_stable(stable); break;
        case 2: {
          auto kind = static_cast<FrameKind>(1 + draw() % 6);
          needs.push_back(is_gated(kind) ? events : 0);
          if (gate.offer(kind, offered)) leaves(offered);
          ++offered;
          break;
        }
        default:
          for (Gate::Token token; gate.poll_released(token);) leaves(token);
          // Nothing that may leave stays.
          ASSERT_TRUE(left == offered || needs[left] > stable);
      }
      ASSERT_EQ(gate.open(), stable == events);
      if (testing::Test::HasFatalFailure()) return;
    }
    gate.on_stable(events);
    stable = events;
    for (Gate::Token token; gate.poll_released(token);) leaves(token);
    ASSERT_EQ(left, offered);
  }
}

}  // namespace
}  // namespace hf::core::vprotocol
