#include "core/vprotocol/taken_sums.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace hf::core::vprotocol {
namespace {

struct Sent {
  std::uint64_t number = 0;
  int tag = 0;
  std::uint64_t length = 8;
  std::byte first{};
};

wire::MessageSum sum_of(const Sent& m, bool with_payload = true) {
  wire::FrameHeader h;
  h.sequence = m.number;
  h.tag = m.tag;
  h.length = m.length;
  std::vector<std::byte> payload(m.length);
  if (!payload.empty()) payload[0] = m.first;
  return with_payload ? wire::message_sum(h, payload) : wire::message_sum(h);
}

void take(TakenSums& sums, const Sent& m, bool with_payload = true) { sums.on_taken(Sequence(m.number), sum_of(m, with_payload)); }
auto again(TakenSums& sums, const Sent& m, bool with_payload = true) { return sums.on_again(Sequence(m.number), sum_of(m, with_payload)); }

TEST(TakenSums, EachMessageOfAFewIsNamed) {
  TakenSums sums;
  for (std::uint64_t n = 0; n < 5; ++n) take(sums, {n, 7});
  sums.expect_again();
  EXPECT_FALSE(again(sums, {0, 7}));
  auto other = again(sums, {1, 8});
  ASSERT_TRUE(other) << "another tag";
  EXPECT_EQ(other->first, Sequence{1});
  EXPECT_EQ(other->last, Sequence{1});
  EXPECT_TRUE(other->envelope);
  other = again(sums, {2, 7, 9});
  ASSERT_TRUE(other) << "another length";
  EXPECT_TRUE(other->envelope);
  other = again(sums, {3, 7, 8, std::byte{1}});
  ASSERT_TRUE(other) << "another payload";
  EXPECT_EQ(other->first, Sequence{3});
  EXPECT_FALSE(other->envelope);
  EXPECT_TRUE(sums.expects());
  EXPECT_FALSE(again(sums, {4, 7}));
  EXPECT_FALSE(sums.expects());
  EXPECT_FALSE(again(sums, {5, 9})) << "nothing more is expected";
}

TEST(TakenSums, NothingIsComparedBeforeANodeIsLost) {
  TakenSums sums;
  take(sums, {0, 7});
  EXPECT_FALSE(again(sums, {0, 8}));
}

// 1000 messages are in blocks of 16; the last block has 8.
TEST(TakenSums, ADifferenceIsSeenAtTheEndOfItsBlockAndOfWhatWasTaken) {
  for (std::uint64_t wrong : {std::uint64_t{3}, std::uint64_t{991}, std::uint64_t{992}, std::uint64_t{999}}) {
    TakenSums sums;
    for (std::uint64_t n = 0; n < 1000; ++n) take(sums, {n, 1});
    sums.expect_again();
    std::uint64_t seen = 0;
    for (std::uint64_t n = 0; n < 1000 && seen == 0; ++n) {
      auto other = again(sums, {n, n == wrong ? 2 : 1});
      if (!other) continue;
      seen = n;
      EXPECT_LE(other->first.value, wrong);
      EXPECT_GE(other->last.value, wrong);
    }
    EXPECT_EQ(seen, std::min<std::uint64_t>(wrong | 15, 999));
  }
}

TEST(TakenSums, TwoThatChangePlacesAreADifference) {
  TakenSums sums;
  for (std::uint64_t n = 0; n < 200; ++n) take(sums, {n, 1, 8, std::byte(n == 100)});
  sums.expect_again();
  bool seen = false;
  for (std::uint64_t n = 0; n < 200; ++n) seen |= again(sums, {n, 1, 8, std::byte(n == 101)}).has_value();
  EXPECT_TRUE(seen);
}

// A connection that breaks, an incarnation that dies before its log has what it sent: the same comes once more.
TEST(TakenSums, AMessageCountsOnce) {
  TakenSums sums;
  for (std::uint64_t n = 0; n < 128; ++n) take(sums, {n, 1});
  sums.expect_again();
  EXPECT_FALSE(again(sums, {0, 1}));
  EXPECT_FALSE(again(sums, {0, 1}));
  EXPECT_FALSE(again(sums, {1, 1}));
  EXPECT_FALSE(again(sums, {2, 1}));
}

// Taken by number, in any order: new ones too come before all that was taken has come again.
TEST(TakenSums, WhatWasTakenSinceThenDoesNotCount) {
  TakenSums sums;
  for (std::uint64_t n = 0; n < 131; ++n) take(sums, {n, 1});  // blocks of 4
  sums.expect_again();
  EXPECT_FALSE(again(sums, {128, 1}));
  EXPECT_FALSE(again(sums, {130, 1}));
  take(sums, {131, 5});
  EXPECT_FALSE(again(sums, {131, 5}));
  EXPECT_TRUE(again(sums, {129, 2}));
}

TEST(TakenSums, APayloadThatIsNotAtHandIsNotCompared) {
  TakenSums sums;
  take(sums, {0, 1}, false);
  take(sums, {1, 1});
  take(sums, {2, 1}, false);
  sums.on_payload(Sequence{2}, sum_of({2, 1}).payload);
  sums.expect_again();
  EXPECT_FALSE(again(sums, {0, 1}));
  EXPECT_FALSE(again(sums, {1, 1}, false));
  EXPECT_TRUE(again(sums, {2, 1, 8, std::byte{1}}));
}

// Protocol optimist: it depended on what is lost, and may be another one now.
TEST(TakenSums, WhatWasTakenBackMayBeAnother) {
  TakenSums sums;
  for (std::uint64_t n = 0; n < 200; ++n) take(sums, {n, 1});
  for (std::uint64_t n = 180; n < 200; ++n) sums.on_taken_back(Sequence{n}, sum_of({n, 1}));
  sums.expect_again();
  for (std::uint64_t n = 0; n < 180; ++n) EXPECT_FALSE(again(sums, {n, 1})) << n;
  EXPECT_FALSE(sums.expects());
  for (std::uint64_t n = 180; n < 200; ++n) take(sums, {n, 2});
  sums.expect_again();
  for (std::uint64_t n = 0; n < 200; ++n) EXPECT_FALSE(again(sums, {n, n < 180 ? 1 : 2})) << n;
}

// The next incarnation sends another one, and dies before its log has it; so that one comes once more.
TEST(TakenSums, WhatIsTakenBackWhileItIsExpectedMayBeAnother) {
  TakenSums sums;
  for (std::uint64_t n = 5; n < 8; ++n) take(sums, {n, 1});
  sums.expect_again();
  EXPECT_FALSE(again(sums, {5, 1}));
  sums.on_taken_back(Sequence{7}, sum_of({7, 1}));
  take(sums, {7, 2});
  EXPECT_FALSE(again(sums, {7, 2})) << "another incarnation's";
  EXPECT_TRUE(sums.expects());
  EXPECT_TRUE(again(sums, {6, 2})) << "what stayed is compared";
  EXPECT_FALSE(sums.expects());
  sums.expect_again();
  for (std::uint64_t n = 5; n < 8; ++n) EXPECT_EQ(again(sums, {n, 1}).has_value(), n == 7);
}

// Blocks of four: some of one have come again, one of them is taken back, others are still to come.
TEST(TakenSums, OthersOfTheBlockAreComparedWithoutWhatIsTakenBack) {
  for (bool differs : {false, true}) {
    TakenSums sums;
    for (std::uint64_t n = 0; n < 200; ++n) take(sums, {n, 1});
    sums.expect_again();
    for (std::uint64_t n = 0; n < 2; ++n) EXPECT_FALSE(again(sums, {n, 1}));
    for (std::uint64_t n : {1, 2}) sums.on_taken_back(Sequence{n}, sum_of({n, 1}));
    for (std::uint64_t n : {1, 2}) take(sums, {n, 2});
    for (std::uint64_t n : {1, 2}) EXPECT_FALSE(again(sums, {n, 2}));
    EXPECT_EQ(again(sums, {3, differs ? 2 : 1}).has_value(), differs);
  }
}

TEST(TakenSums, OnlyTheLastLossCounts) {
  TakenSums sums;
  for (std::uint64_t n = 0; n < 100; ++n) take(sums, {n, 1});
  sums.expect_again();
  for (std::uint64_t n = 0; n < 51; ++n) EXPECT_FALSE(again(sums, {n, 1}));
  sums.expect_again();
  bool seen = false;
  for (std::uint64_t n = 0; n < 100; ++n) seen |= again(sums, {n, n == 99 ? 2 : 1}).has_value();
  EXPECT_TRUE(seen);
}

// Any numbers, any order, losses at any time, some payloads not at hand: the same again is never a difference, one other tag always is.
TEST(TakenSums, DrawnAtRandom) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const std::uint64_t count = 1 + random() % 700;
    const bool differs = seed % 2 == 1;
    std::vector<std::uint64_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = 0; i + 1 < order.size(); ++i) std::swap(order[i], order[std::min(i + random() % 5, order.size() - 1)]);
    TakenSums sums;
    std::vector<std::uint64_t> taken;
    auto one_more = [&] {
      const std::uint64_t n = order[taken.size()];
      take(sums, {n, 1}, random() % 20 != 0);
      taken.push_back(n);
    };
    for (int losses = 0; losses < 3; ++losses) {
      for (std::uint64_t n = random() % count; n > 0 && taken.size() < count; --n) one_more();
      sums.expect_again();
      std::vector<std::uint64_t> comes = taken;
      std::shuffle(comes.begin(), comes.end(), random);
      const std::uint64_t wrong = differs && !comes.empty() ? comes[random() % comes.size()] : count;
      bool seen = false;
      for (std::uint64_t n : comes) {
        seen |= again(sums, {n, n == wrong ? 2 : 1}, random() % 20 != 0).has_value();
        if (random() % 30 == 0) seen |= again(sums, {n, n == wrong ? 2 : 1}).has_value();
        if (random() % 30 == 0 && taken.size() < count) one_more();
      }
      ASSERT_EQ(seen, wrong != count) << "seed " << seed;
      if (differs) break;
    }
  }
}

}  // namespace
}  // namespace hf::core::vprotocol
