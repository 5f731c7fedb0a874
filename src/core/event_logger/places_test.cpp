#include "core/event_logger/places.hpp"

#include <gtest/gtest.h>

namespace hf::core::event_logger {
namespace {

using testing::Test;

constexpr Generation one{1}, two{2}, three{3};

// Agent 0 hosts the rank, 1 and 2 hold its events; 3 takes it over, with 4 and 2 as holders.
struct PlacesTest : Test {
  Holding of_0{{{1, one, false}, {2, two, false}}, two}, of_3{{{4, one, false}, {2, two, false}}, two};
  Places places;
  void settle_first() {
    of_0.copies[0].held = of_0.copies[1].held = true;
    EXPECT_TRUE(places.settle(0, of_0.holders()).empty());
  }
  void begin_second() {
    places.move(Term{1});
    for (int holder : of_3.holders()) places.add(holder);
  }
  PlacesTest() {
    for (int holder : of_0.holders()) places.add(holder);
  }
};

TEST_F(PlacesTest, WhereNothingIsSettledNothingWasTold) {
  places.move(Term{1});
  const Told told = places.told(nullptr);
  EXPECT_EQ(told.first, told.next);
  EXPECT_EQ(places.all(), (std::vector{1, 2}));
}

TEST_F(PlacesTest, AllHoldersMustHaveIt) {
  EXPECT_FALSE(of_0.all_held());
  of_0.copies[0].held = true;
  EXPECT_FALSE(of_0.all_held());
  of_0.copies[1].holder = -1;
  EXPECT_TRUE(of_0.all_held()) << "of those that there are";
  EXPECT_EQ(of_0.holders(), (std::set{1}));
}

TEST_F(PlacesTest, UntilItIsSettledWhoHeldBeforeIsAskedToo) {
  settle_first();
  begin_second();
  EXPECT_EQ(places.all(), (std::vector{1, 2, 4}));
  EXPECT_EQ(places.settled_agent(), 0);
  places.move(Term{2});  // agent 3 is lost as well
  const Told told = places.told(&of_0);
  EXPECT_EQ(told.first, Term{0});
  EXPECT_EQ(told.next, Term{1}) << "under term 1 nothing was told";
  EXPECT_FALSE(told.place_lost);
  EXPECT_EQ(told.present, (std::set{one, two}));
}

TEST_F(PlacesTest, OnceItIsSettledThePresentHoldersAlone) {
  settle_first();
  begin_second();
  EXPECT_EQ(places.settle(3, of_3.holders()), (std::vector{1})) << "need not keep it";
  EXPECT_EQ(places.all(), (std::vector{2, 4}));
  EXPECT_EQ(places.settled_agent(), 3);
  places.move(Term{2});
  EXPECT_EQ(places.told(&of_3).first, Term{1});
  EXPECT_EQ(places.told(&of_3).next, Term{2});
}

// Of hostings that were not settled no copy counts with its generation: they are other agents'.
TEST_F(PlacesTest, TheLastHostingIsTheOneThatIsSettled) {
  settle_first();
  begin_second();
  places.move(Term{2});
  places.settle(5, {6});
  places.move(Term{3});
  EXPECT_EQ(places.told(nullptr).first, Term{2});
}

TEST_F(PlacesTest, WhoIsLostCountsOnlyForWhatItHeld) {
  settle_first();
  begin_second();
  places.lose(4);
  places.move(Term{2});
  EXPECT_FALSE(places.told(&of_0).place_lost) << "it was the unsettled hosting's";
  places.lose(2);
  EXPECT_TRUE(places.told(&of_0).place_lost);
  EXPECT_EQ(places.all(), (std::vector{1}));
  places.settle(5, {1});
  EXPECT_FALSE(places.told(&of_0).place_lost) << "all that are asked have all";
}

TEST_F(PlacesTest, AHolderThatIsReplacedIsAskedUntilAllIsHeld) {
  settle_first();
  of_0.copies[0] = {7, three, false};
  places.add(7);
  EXPECT_EQ(places.all(), (std::vector{1, 2, 7}));
  places.move(Term{1});
  EXPECT_EQ(places.told(&of_0).present, (std::set{two, three}));
}

TEST_F(PlacesTest, WithoutAHolderMoreIsStableThanOthersHave) {
  settle_first();
  places.only({2});
  EXPECT_EQ(places.all(), (std::vector{2}));
  places.only({});
  EXPECT_TRUE(places.all().empty());
  of_0.copies = {{-1, three, false}, {-1, three, false}};
  places.move(Term{1});
  EXPECT_TRUE(places.told(&of_0).place_lost);
  EXPECT_TRUE(places.told(&of_0).present.empty());
  EXPECT_TRUE(places.settle(3, {}).empty());
  EXPECT_TRUE(places.told(&of_3).place_lost);
}

TEST_F(PlacesTest, OfAnUnsettledHostingThatHasNoneTheOthersAreAsked) {
  settle_first();
  places.move(Term{1});
  places.only({});
  EXPECT_EQ(places.all(), (std::vector{1, 2}));
}

TEST_F(PlacesTest, AnotherHeadGoesOnWithTheFacts) {
  settle_first();
  begin_second();
  places.lose(1);
  const Places again(places.facts(), places.settled(), places.begun());
  EXPECT_EQ(again.all(), places.all());
  EXPECT_EQ(again.is_settled(), places.is_settled());
  EXPECT_TRUE(again.told(&of_0).place_lost);
}

}  // namespace
}  // namespace hf::core::event_logger
