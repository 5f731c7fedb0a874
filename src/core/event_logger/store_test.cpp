#include "core/event_logger/store.hpp"

#include <gtest/gtest.h>

namespace hf::core::event_logger {
namespace {

constexpr Rank rank{3};

// A hosting under term 1 takes over from term 0, of which this holder has 48 bytes and another had 100.
struct Begun : testing::Test {
  Store store{1 << 20};
  void append(Term term, Generation generation, std::uint64_t position, std::uint64_t promised, std::size_t bytes) {
    ASSERT_EQ(store.on_append(rank, term, generation, position, {promised, {}}, {}, std::vector<std::byte>(bytes)), Store::Verdict::taken);
  }
  Store::Content open(Term term) { return store.on_open(rank, term); }
  Begun() {
    append(Term{0}, Generation{2}, 0, 0, 0);
    append(Term{0}, Generation{2}, 0, 40, 48);
    open(Term{1});
    append(Term{1}, Generation{7}, 100, 100, 0);
  }
};

TEST_F(Begun, IsStillTheOlderHostingsCopy) {
  append(Term{1}, Generation{7}, 48, 100, 20);
  const auto content = open(Term{2});
  EXPECT_EQ(content.term, Term{0});
  EXPECT_EQ(content.generation, Generation{2});
  EXPECT_EQ(content.promised.end, 40u);
  EXPECT_EQ(content.bytes.size(), 68u);
}

TEST_F(Begun, IsTheNewHostingsOnceItIsWhole) {
  append(Term{1}, Generation{7}, 48, 100, 52);
  append(Term{1}, Generation{7}, 100, 160, 0);  // more is promised than is here: it was told, and the older one has not got it
  const auto content = open(Term{2});
  EXPECT_EQ(content.term, Term{1});
  EXPECT_EQ(content.generation, Generation{7});
  EXPECT_EQ(content.promised.end, 160u);
}

// Taken over once more, by a hosting that begins as well.
TEST_F(Begun, StaysSoOverSeveralHostings) {
  open(Term{2});
  append(Term{2}, Generation{1}, 100, 100, 0);
  EXPECT_EQ(open(Term{3}).term, Term{0});
}

TEST_F(Begun, HasTheTermOfTheLastAppendForWhatIsCarriedAndCut) {
  EXPECT_EQ(store.term(rank), Term{1});
  store.on_cut(rank, Term{2}, 16);
  const auto content = open(Term{2});
  EXPECT_EQ(content.bytes.size(), 16u);
  EXPECT_EQ(content.promised.end, 16u) << "no more of any hosting is part of the stream";
}

TEST(Store, ACopyThatWasNeverWholeIsNobodysElse) {
  Store store(1 << 20);
  ASSERT_EQ(store.on_append(rank, Term{0}, Generation{1}, 0, {100, {}}, {}, {}), Store::Verdict::taken);
  store.on_open(rank, Term{1});
  ASSERT_EQ(store.on_append(rank, Term{1}, Generation{1}, 0, {120, {}}, {}, {}), Store::Verdict::taken);
  const auto content = store.on_open(rank, Term{2});
  EXPECT_EQ(content.term, Term{1});
  EXPECT_EQ(content.promised.end, 120u);
}

// The hosting found the first two of three events; the third is not whole here, or was never told to anybody.
TEST(Store, WhatAHostingHasNotFoundIsNotItsCopy) {
  Store store(1 << 20);
  ASSERT_EQ(store.on_append(rank, Term{0}, Generation{1}, 0, {}, {}, std::vector<std::byte>(40)), Store::Verdict::taken);
  store.on_open(rank, Term{1});
  ASSERT_EQ(store.on_append(rank, Term{1}, Generation{2}, 32, {32, {}}, {}, {}), Store::Verdict::taken);
  EXPECT_EQ(store.end(rank), 32u);
  EXPECT_EQ(store.bytes(), 32u);
  // Asked again, when it has got more of this hosting.
  ASSERT_EQ(store.on_append(rank, Term{1}, Generation{2}, 32, {32, {}}, TestClock{5}, std::vector<std::byte>(16)), Store::Verdict::taken);
  ASSERT_EQ(store.on_append(rank, Term{1}, Generation{2}, 32, {48, {}}, {}, {}), Store::Verdict::taken);
  EXPECT_EQ(store.end(rank), 48u);
  // One that has got nothing yet.
  ASSERT_EQ(store.on_append(Rank{4}, Term{1}, Generation{2}, 32, {32, {}}, {}, {}), Store::Verdict::taken);
  EXPECT_EQ(store.end(Rank{4}), 0u);
}

TEST(Store, ACopyWithoutAFailedTestThatWasToldIsNotWhole) {
  Store store(1 << 20);
  ASSERT_EQ(store.on_append(rank, Term{0}, Generation{1}, 0, {}, TestClock{24}, std::vector<std::byte>(64)), Store::Verdict::taken);
  store.on_open(rank, Term{1});
  const Extent found{64, TestClock{27}};
  ASSERT_EQ(store.on_append(rank, Term{1}, Generation{2}, 64, found, {}, {}), Store::Verdict::taken);
  EXPECT_EQ(store.on_open(rank, Term{2}).term, Term{0});
  ASSERT_EQ(store.on_append(rank, Term{2}, Generation{2}, 64, found, TestClock{27}, {}), Store::Verdict::taken);
  EXPECT_EQ(store.on_open(rank, Term{3}).term, Term{2});
}

// A cut of which this holder has not heard: the hosting found nothing of what is here, and does something else.
TEST(Store, WhatAnOlderHostingHadPromisedBehindACutIsNot) {
  Store store(1 << 20);
  ASSERT_EQ(store.on_append(rank, Term{0}, Generation{1}, 0, {}, TestClock{27}, std::vector<std::byte>(64)), Store::Verdict::taken);
  ASSERT_EQ(store.on_append(rank, Term{0}, Generation{1}, 64, {48, TestClock{27}}, {}, {}), Store::Verdict::taken);
  store.on_open(rank, Term{1});
  ASSERT_EQ(store.on_append(rank, Term{1}, Generation{2}, 0, {}, {}, {}), Store::Verdict::taken);
  EXPECT_EQ(store.last_failed(rank), TestClock{}) << "the answer is about what was not sent";
  ASSERT_EQ(store.on_append(rank, Term{1}, Generation{2}, 0, {}, {}, std::vector<std::byte>(16)), Store::Verdict::taken);
  const auto content = store.on_open(rank, Term{2});
  EXPECT_EQ(content.promised, (Extent{}));
  EXPECT_EQ(content.last_failed, TestClock{});
  EXPECT_EQ(content.bytes.size(), 16u);
}

// The head has named another holder, which has all by now; perhaps this one again since then.
TEST(Store, WhoIsReplacedForgetsWhatTheSameHostingHadGiven) {
  Store store(64);
  ASSERT_EQ(store.on_append(rank, Term{0}, Generation{1}, 0, {}, {}, std::vector<std::byte>(48)), Store::Verdict::taken);
  store.forget(rank, Term{0}, Generation{1});
  EXPECT_EQ(store.end(rank), 48u) << "it is the present holder";
  store.forget(rank, Term{0}, Generation{2});
  EXPECT_EQ(store.bytes(), 0u) << "a full one has room again";
  EXPECT_EQ(store.on_append(rank, Term{0}, Generation{1}, 48, {48, {}}, {}, std::vector<std::byte>(8)), Store::Verdict::gap);
  ASSERT_EQ(store.on_append(rank, Term{0}, Generation{3}, 0, {48, {}}, {}, {}), Store::Verdict::taken);
  ASSERT_EQ(store.on_append(rank, Term{0}, Generation{3}, 0, {48, {}}, {}, std::vector<std::byte>(48)), Store::Verdict::taken);
  store.forget(rank, Term{0}, Generation{2});
  EXPECT_EQ(store.end(rank), 48u) << "said late";
  const auto content = store.on_open(rank, Term{1});
  EXPECT_TRUE(content.known);
  EXPECT_EQ(content.generation, Generation{3});
}

TEST(Store, WhatWasForgottenIsNobodysCopy) {
  Store store(64);
  ASSERT_EQ(store.on_append(rank, Term{0}, Generation{1}, 0, {}, {}, std::vector<std::byte>(48)), Store::Verdict::taken);
  store.forget(rank, Term{0}, Generation{2});
  for (std::uint32_t term = 1; term < 3; ++term) {
    const auto content = store.on_open(rank, Term{term});
    EXPECT_EQ(content.generation, Generation{}) << "one of a generation that has all would suffice";
  }
}

// One that was whole, of which a copy was begun before the cut, has promised no more either.
TEST_F(Begun, PromisesNoMoreThanWhatIsLeftOfTheOlderOne) {
  open(Term{2});
  append(Term{2}, Generation{8}, 16, 16, 0);
  const auto content = open(Term{3});
  EXPECT_EQ(content.bytes.size(), 16u);
  EXPECT_EQ(content.promised.end, 16u);
}

}  // namespace
}  // namespace hf::core::event_logger
