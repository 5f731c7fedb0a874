#include "core/event_logger/copies.hpp"

#include <gtest/gtest.h>

#include "core/event_logger/found.hpp"
#include "core/event_logger/store.hpp"

namespace hf::core::event_logger {
namespace {

constexpr Rank rank{3};
constexpr Term term{0};

// What the copy may send goes to this holder, which answers.
void exchange(Copies& copies, int copy, Store& store) {
  for (Sender::Append a; copies.poll_append(copy, a);) {
    const std::vector<std::byte> bytes(a.end - a.position);
    ASSERT_EQ(store.on_append(a.rank, a.term, a.generation, a.position, a.promised, a.last_failed, bytes), Store::Verdict::taken);
    ASSERT_TRUE(copies.on_stable(copy, a.rank, a.term, {store.end(a.rank), store.last_failed(a.rank)}));
  }
}

// Whether somebody who takes the rank over, and reaches these holders of all that there were, has all that was promised. `present`: the
// generations of the holders that were not replaced.
bool recovers(std::initializer_list<Store*> left, std::set<Generation> present) {
  Found best;
  const Told told{term, term.next(), true, std::move(present)};
  for (Store* store : left) {
    auto content = store->on_open(rank, term.next());
    take(best, {content.known, content.term, content.generation, content.promised, content.last_failed, {content.bytes.begin(), content.bytes.end()}},
         told.next);
  }
  return suffices(best, told);
}

struct Two : testing::Test {
  Copies copies{2, 1 << 20};
  Store e{1 << 20}, f{1 << 20}, g{1 << 20};
  std::uint64_t stable() const { return copies.stable(rank).end; }
  Two() {
    copies.add(rank, term, {});
    copies.on_settled(rank);
    copies.on_connected(0, Generation{1});
    copies.on_connected(1, Generation{2});
    copies.on_published(rank, {100, TestClock{7}});
  }
};

// One place had all of it, another need not: whoever takes the rank over promises it, and tells it only when both have it.
TEST_F(Two, WhatIsPromisedIsToldWhenBothHaveIt) {
  copies.add(rank, term.next(), {100, TestClock{7}}, {});
  copies.on_settled(rank);
  copies.on_published(rank, {100, TestClock{7}});
  EXPECT_EQ(stable(), 0u);
  exchange(copies, 0, e);
  EXPECT_EQ(stable(), 0u);
  exchange(copies, 1, f);
  EXPECT_EQ(stable(), 100u);
  EXPECT_EQ(f.on_open(rank, term.next()).promised.end, 100u);
}

// Whoever took the rank over and is lost before the head has heard that both have it has told nothing.
TEST_F(Two, NothingMoreIsToldBeforeTheHostingIsSettled) {
  copies.add(rank, term.next(), {60, {}}, {48, {}});
  EXPECT_FALSE(copies.all_settled());
  copies.on_published(rank, {100, TestClock{7}});
  exchange(copies, 0, e);
  exchange(copies, 1, f);
  Generation held;
  EXPECT_TRUE(copies.poll_held(0, held));
  EXPECT_TRUE(copies.poll_held(1, held));
  EXPECT_EQ(stable(), 48u);
  copies.on_settled(rank);
  EXPECT_TRUE(copies.all_settled());
  EXPECT_EQ(stable(), 100u);
}

TEST_F(Two, BothMustHaveIt) {
  exchange(copies, 0, e);
  EXPECT_EQ(stable(), 0u);
  exchange(copies, 1, f);
  EXPECT_EQ(stable(), 100u);
  EXPECT_EQ(copies.stable(rank).last_failed, TestClock{7});
  Generation held;
  EXPECT_TRUE(copies.poll_held(0, held) && held == Generation{1});
  EXPECT_TRUE(copies.poll_held(1, held) && held == Generation{2});
}

TEST_F(Two, OneIsLostWithTheNode) {
  exchange(copies, 0, e);
  exchange(copies, 1, f);
  EXPECT_EQ(stable(), 100u);
  EXPECT_TRUE(recovers({&f}, {Generation{1}, Generation{2}}));
}

TEST_F(Two, WhatOneAloneHasWasPromisedToNobody) {
  exchange(copies, 0, e);
  exchange(copies, 1, f);
  copies.on_published(rank, {160, TestClock{7}});
  exchange(copies, 0, e);
  EXPECT_EQ(stable(), 100u);
  EXPECT_TRUE(recovers({&f}, {Generation{1}, Generation{2}}));
}

TEST_F(Two, WhatIsStableStaysSoWhileAnotherHolderTakesItUp) {
  exchange(copies, 0, e);
  exchange(copies, 1, f);
  copies.on_disconnected(0);
  copies.on_published(rank, {160, TestClock{7}});
  exchange(copies, 1, f);
  EXPECT_EQ(stable(), 100u);
  copies.on_connected(0, Generation{3});
  Sender::Append question;
  ASSERT_TRUE(copies.poll_append(0, question));
  ASSERT_EQ(g.on_append(rank, term, question.generation, 0, question.promised, {}, {}), Store::Verdict::taken);
  Generation held;
  ASSERT_TRUE(copies.on_stable(0, rank, term, {}));
  EXPECT_FALSE(copies.poll_held(0, held));
  Store begun = g;
  EXPECT_FALSE(recovers({&begun}, {Generation{2}, Generation{3}})) << "nothing of what was promised is there";
  exchange(copies, 0, g);
  EXPECT_EQ(stable(), 160u);
  EXPECT_TRUE(copies.poll_held(0, held) && held == Generation{3});
  EXPECT_TRUE(recovers({&g}, {Generation{2}, Generation{3}}));
}

TEST_F(Two, OnlyOneOtherNodeIsLeft) {
  exchange(copies, 0, e);
  EXPECT_EQ(stable(), 0u);
  copies.on_no_holder(1);
  EXPECT_EQ(stable(), 100u);
  copies.on_published(rank, {120, {}});
  EXPECT_EQ(stable(), 100u);
  copies.on_no_holder(0);
  EXPECT_EQ(stable(), 120u);
  copies.on_published(rank, {130, {}});
  EXPECT_EQ(stable(), 130u);
}

TEST_F(Two, Rollback) {
  exchange(copies, 0, e);
  exchange(copies, 1, f);
  copies.roll_back(rank, term.next(), 48);
  EXPECT_EQ(stable(), 48u);
  e.on_cut(rank, term.next(), 48);
  f.on_cut(rank, term.next(), 48);
  copies.on_published(rank, {80, {}});
  exchange(copies, 0, e);
  EXPECT_EQ(stable(), 48u);
  exchange(copies, 1, f);
  EXPECT_EQ(stable(), 80u);
}

TEST(Copies, OneIsASender) {
  Copies copies(1, 1 << 20);
  Store e(1 << 20);
  copies.add(rank, term, {});
  copies.on_connected(0, Generation{1});
  copies.on_published(rank, {100, {}});
  exchange(copies, 0, e);
  EXPECT_EQ(copies.stable(rank).end, 0u);
  copies.on_settled(rank);
  EXPECT_EQ(copies.stable(rank).end, 100u);
}

}  // namespace
}  // namespace hf::core::event_logger
