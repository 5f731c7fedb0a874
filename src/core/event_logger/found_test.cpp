#include "core/event_logger/found.hpp"

#include <gtest/gtest.h>

namespace hf::core::event_logger {
namespace {

constexpr Term every_term{100};

Found found(std::uint32_t term, std::uint64_t promised, std::size_t bytes, std::uint64_t last_failed = 0, std::uint32_t generation = 1) {
  return {true, Term{term}, Generation{generation}, {promised, {}}, TestClock{last_failed}, std::vector<std::byte>(bytes)};
}

// The same whatever the order in which the agents answer.
Found best_of(const Found& left, const Found& right) {
  Found forward, backward;
  take(forward, left, every_term);
  take(forward, right, every_term);
  take(backward, right, every_term);
  take(backward, left, every_term);
  EXPECT_EQ(forward.term, backward.term);
  EXPECT_EQ(forward.bytes.size(), backward.bytes.size());
  EXPECT_EQ(forward.promised, backward.promised);
  EXPECT_EQ(forward.last_failed, backward.last_failed);
  return forward;
}

TEST(Found, TheNewestHostingCounts) {
  const Found best = best_of(found(0, 100, 900), found(1, 100, 300));
  EXPECT_EQ(best.term, Term{1});
  EXPECT_EQ(best.bytes.size(), 300u);
  EXPECT_EQ(best_of(found(1, 100, 200), found(1, 100, 300)).bytes.size(), 300u);
}

TEST(Found, WhoNeverHeardOfTheRankDoesNotCount) {
  EXPECT_EQ(best_of(Found(), found(0, 0, 10)).bytes.size(), 10u);
  EXPECT_TRUE(best_of(Found(), found(0, 0, 0)).known);
}

// The spare had taken over 848 bytes and was lost when its holder had not got all of them.
TEST(Found, ACopyThatHasOnlyBegunDoesNotCount) {
  for (std::size_t copied : {0, 500}) {
    const Found best = best_of(found(0, 848, 848, 7), found(1, 848, copied, 9));
    EXPECT_EQ(best.term, Term{0});
    EXPECT_EQ(best.bytes.size(), 848u);
    EXPECT_EQ(best.last_failed, TestClock{7}) << "of a copy that does not count";
  }
  // When more had been promised since then, the older one does not reach so far, and whoever takes over says so.
  const Found lost = best_of(found(0, 848, 848), found(1, 1000, 500));
  EXPECT_GT(lost.promised.end, lost.bytes.size());
}

TEST(Found, WhatMayBeMissingDoesNotSuffice) {
  const Told all{Term{0}, Term{1}, false, {}}, some{Term{0}, Term{1}, true, {Generation{1}}};
  Found nobody;
  EXPECT_TRUE(suffices(nobody, all));  // nothing was ever determined
  EXPECT_FALSE(suffices(nobody, some));
  EXPECT_TRUE(suffices(found(0, 848, 848), some));
  EXPECT_FALSE(suffices(found(0, 1000, 848), all));
  // Taken over under term 1 and settled, by one that is lost too: what it wrote may have been stable at an agent that is not there any more.
  const Told later{Term{1}, Term{2}, true, {Generation{1}}};
  EXPECT_FALSE(suffices(found(0, 848, 848), later));
  EXPECT_TRUE(suffices(found(1, 848, 900), later));
}

// B was the holder, then C, which is lost; B was chosen again, and the node lost before it had sent anything there.
TEST(Found, ACopyOfBeforeTheHolderThatIsLostDoesNotSuffice) {
  const Told told{Term{0}, Term{1}, true, {Generation{3}}};
  EXPECT_FALSE(suffices(found(0, 40, 40, 0, 1), told));
  EXPECT_TRUE(suffices(found(0, 40, 48, 0, 3), told));
  EXPECT_TRUE(suffices(found(0, 40, 40, 0, 1), {Term{0}, Term{1}, false, {Generation{3}}})) << "whoever was the holder since was asked too";
  // Two places have as much: the newer one counts.
  EXPECT_EQ(best_of(found(0, 40, 40, 0, 1), found(0, 40, 40, 0, 2)).generation, Generation{2});
}

// E, F and G held; F was replaced by H, which has nothing yet. E or G has all, of what F had nobody knows.
TEST(Found, AnyHolderThatWasNotReplacedHasAll) {
  const Told told{Term{0}, Term{1}, true, {Generation{1}, Generation{3}, Generation{4}}};
  EXPECT_TRUE(suffices(found(0, 40, 48, 0, 1), told));
  EXPECT_FALSE(suffices(found(0, 40, 48, 0, 2), told));
  EXPECT_TRUE(suffices(found(0, 40, 48, 0, 3), told));
}

// E and F held; F was slow and gave way to G, which is lost. F lives, with what it had: as much as E, or more that was not stable yet.
TEST(Found, AHolderThatWasReplacedDoesNotMakeTheOthersWorse) {
  const Told told{Term{0}, Term{1}, true, {Generation{1}, Generation{4}}};
  const Found kept = found(0, 40, 48, 0, 1);
  for (std::size_t bytes : {40, 48, 64}) {
    const Found replaced = found(0, 40, bytes, 0, 2);
    Found forward, backward, alone;
    take(forward, kept, told.next);
    take(forward, replaced, told.next);
    take(backward, replaced, told.next);
    take(backward, kept, told.next);
    EXPECT_TRUE(suffices(forward, told));
    EXPECT_TRUE(suffices(backward, told));
    EXPECT_EQ(forward.bytes.size(), std::max<std::size_t>(bytes, 48));
    EXPECT_EQ(backward.bytes.size(), forward.bytes.size());
    take(alone, replaced, told.next);
    take(alone, found(0, 40, 30, 0, 1), told.next);
    EXPECT_FALSE(suffices(alone, told)) << "the other has less than was promised";
  }
}

// The spare had found 848 bytes where 800 had been stable, and was lost before it was settled, and with it who had 848.
TEST(Found, WhatAnUnsettledHostingPromisedWasToldToNobody) {
  const Told told{Term{0}, Term{1}, true, {Generation{2}}};
  Found best;
  take(best, found(1, 848, 100), told.next);
  EXPECT_FALSE(suffices(best, told)) << "nobody has anything";
  take(best, found(0, 800, 800, 0, 2), told.next);
  EXPECT_EQ(best.bytes.size(), 800u);
  EXPECT_TRUE(suffices(best, told));
  EXPECT_FALSE(suffices(best, {Term{0}, Term{1}, false, {}})) << "it had found them somewhere, and all are there";
  take(best, found(1, 848, 850, 0, 9), told.next);
  EXPECT_EQ(best.bytes.size(), 850u) << "a whole copy counts, whoever is settled";
  EXPECT_TRUE(suffices(best, told));
}

TEST(Found, WhereNothingWasEverSettledNothingIsMissing) {
  const Told told{Term{0}, Term{0}, true, {}};
  EXPECT_TRUE(suffices({}, told));
  Found best;
  take(best, found(0, 100, 40), told.next);
  EXPECT_TRUE(suffices(best, told));
  EXPECT_TRUE(best.bytes.empty());
}

// The disk gave more of it to the second that read it than to the first, whose ranks went on otherwise.
TEST(Found, TheFailedTestsOfAnotherHostingAreOfAnotherExecution) {
  EXPECT_EQ(best_of(found(0, 592, 656, 27), found(1, 608, 608, 24)).last_failed, TestClock{24});
  EXPECT_EQ(best_of(found(0, 592, 608, 27), found(1, 608, 608, 24)).last_failed, TestClock{24});
}

TEST(Found, OfOneHostingTheLastFailedTestCountsThatComesBeforeWhatIsMissing) {
  EXPECT_EQ(best_of(found(0, 48, 64, 9), found(0, 48, 64, 12)).last_failed, TestClock{12});
  EXPECT_EQ(best_of(found(0, 48, 48, 12), found(0, 48, 64, 9)).last_failed, TestClock{12});
  Found known = found(0, 48, 64, 9), longer = found(0, 80, 64, 9);
  longer.promised = {48, TestClock{10}};  // its sender had begun to give it a copy: the failed test is still to come
  EXPECT_EQ(best_of(known, longer).last_failed, TestClock{9});
  Found best = best_of(known, longer);
  EXPECT_FALSE(suffices(best, {Term{0}, Term{1}, false, {}})) << "a failed test was told, and nobody has it";
}

// Under optimist a copy of an older term has what was cut.
TEST(Found, WhatWasCutIsNeitherPromisedNorThere) {
  Found older = found(0, 100, 100);
  keep(older, 48);
  const Found best = best_of(older, found(1, 48, 48));
  EXPECT_EQ(best.promised.end, 48u);
  EXPECT_EQ(best.term, Term{1});
  Found short_one = found(0, 100, 32);
  keep(short_one, 48);
  EXPECT_EQ(short_one.bytes.size(), 32u);
  EXPECT_EQ(short_one.promised.end, 48u) << "16 are missing";
}

}  // namespace
}  // namespace hf::core::event_logger
