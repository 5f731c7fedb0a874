// Rules that a story of all agents does not show: what one core makes of frames that come late, twice, or of the wrong one.
#include "core/membership/membership.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace hf::core::membership {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr NodeId zero{0}, one{1}, two{2}, three{3};
using Kinds = std::vector<std::pair<int, wire::TreeKind>>;
using enum wire::TreeKind;

Instant at(std::int64_t milliseconds) {
  return Instant(milliseconds * ms);
}

// Six agents, fan-out 2. head: 0 1; 0: 2 3; 1: 4 5.
struct One {
  explicit One(NodeId self) : core(MembershipOptions{}, 6, 2, self, at(0)) {
    core.on_started(at(0));
    core.on_timeout(at(0));
    said();
  }
  wire::TreeFrame frame(wire::TreeKind kind, NodeId from, std::uint32_t version) {
    wire::TreeFrame f;
    f.header = {.kind = kind, .node = from.value, .version = version};
    return f;
  }
  Membership::Verdict beat(Instant now, NodeId from, std::uint32_t version = 0, std::vector<wire::SuspectEntry> suspects = {}) {
    auto f = frame(heartbeat, from, version);
    f.suspects = std::move(suspects);
    return core.on_frame(now, from, f);
  }
  void tell(Instant now, NodeId from, wire::ViewRange range, std::vector<wire::DeathEntry> deaths) {
    auto f = frame(view, from, range.to);
    f.range = range;
    f.deaths = std::move(deaths);
    core.on_frame(now, from, f);
  }
  Kinds said() {
    Kinds out;
    for (Transmit t; core.poll_transmit(t);) {
      auto f = wire::decode_tree_frame(t.frame, 6);
      EXPECT_TRUE(f);
      if (f) out.emplace_back(t.to.value, f->header.kind);
    }
    return out;
  }
  // All timers up to this time, with the parents' and children's heartbeats.
  void live(std::int64_t from, std::int64_t to, const std::vector<NodeId>& heard) {
    for (std::int64_t t = from; t <= to; t += 50) {
      if (t % 100 == 0) {
        for (NodeId node : heard) beat(at(t), node, core.version().value);
      }
      core.on_timeout(at(t));
    }
    said();
  }
  Membership core;
};

TEST(Membership, WhoHasAnOldViewAsksForTheNewOne) {
  One agent(zero);
  agent.beat(at(1), head_node, 3);
  EXPECT_EQ(agent.said(), (Kinds{{-1, ask}}));
  agent.tell(at(2), head_node, {1, 3}, {{5, 2}, {4, 3}});
  EXPECT_EQ(agent.said(), (Kinds{{-1, ask}})) << "what came between is missing";
  EXPECT_EQ(agent.core.version(), ViewVersion(0));
  agent.tell(at(3), head_node, {0, 3}, {{5, 2}, {4, 3}});
  EXPECT_EQ(agent.core.version(), ViewVersion(3));
  EXPECT_FALSE(agent.core.shape().is_alive(NodeId(5)));
}

TEST(Membership, AViewIsPassedOnToTheChildrenAndTakenOnce) {
  One agent(zero);
  agent.tell(at(1), head_node, {0, 1}, {{5, 1}});
  EXPECT_EQ(agent.said(), (Kinds{{2, view}, {3, view}}));
  agent.tell(at(2), head_node, {0, 1}, {{5, 1}});
  EXPECT_TRUE(agent.said().empty());
}

TEST(Membership, ADeathThatIsNamedTwiceCountsOnce) {
  One agent(zero);
  agent.tell(at(1), head_node, {0, 2}, {{5, 1}, {5, 2}});
  EXPECT_EQ(agent.core.version(), ViewVersion(2));
}

TEST(Membership, NobodyTellsTheHeadWhoIsDead) {
  One head(head_node);
  head.tell(at(1), zero, {0, 1}, {{5, 1}});
  EXPECT_EQ(head.core.version(), ViewVersion(0));
}

TEST(Membership, FramesOfTheDeadAreRefusedAndAnswered) {
  One agent(zero);
  agent.tell(at(1), head_node, {0, 1}, {{2, 1}});
  agent.said();
  for (wire::TreeKind kind : {heartbeat, view, ask, items}) {
    EXPECT_EQ(agent.core.on_frame(at(2), two, agent.frame(kind, two, 9)), Membership::Verdict::refused);
    EXPECT_EQ(agent.said(), (Kinds{{2, fenced}}));
  }
  EXPECT_EQ(agent.core.on_frame(at(2), two, agent.frame(fenced, two, 9)), Membership::Verdict::refused);
  EXPECT_TRUE(agent.said().empty()) << "no answer to an answer";
  EXPECT_FALSE(agent.core.ended()) << "the dead end nobody";
}

TEST(Membership, WhoIsToldThatItIsDeadEnds) {
  for (bool in_view : {false, true}) {
    One agent(zero);
    if (in_view) agent.tell(at(1), head_node, {0, 1}, {{0, 1}});
    else agent.core.on_frame(at(1), one, agent.frame(fenced, one, 1));
    EXPECT_TRUE(agent.core.ended());
    Event event;
    ASSERT_TRUE(agent.core.poll_event(event));
    EXPECT_EQ(event.kind, Event::ended);
    EXPECT_EQ(event.reason, EndReason::fenced);
    EXPECT_EQ(agent.beat(at(2), head_node), Membership::Verdict::refused);
    EXPECT_FALSE(agent.core.next_deadline());
  }
}

TEST(Membership, AFrameInAnothersNameIsRefused) {
  One agent(zero);
  EXPECT_EQ(agent.core.on_frame(at(1), two, agent.frame(heartbeat, three, 0)), Membership::Verdict::refused);
}

TEST(Membership, TheHeadWaitsForTheOthersThatComeWithADeath) {
  One head(head_node);
  head.beat(at(10), zero, 0, {{2, 0}});
  head.beat(at(11), one, 0, {{4, 0}});
  EXPECT_EQ(head.core.version(), ViewVersion(0));
  head.core.on_timeout(at(15));
  EXPECT_EQ(head.core.version(), ViewVersion(1));
  EXPECT_EQ(head.core.shape().living(), 4);
  head.beat(at(20), one, 1, {{5, 1}});
  head.core.on_timeout(at(100));
  EXPECT_EQ(head.core.version(), ViewVersion(1)) << "one decision in 100 ms";
  head.core.on_timeout(at(115));
  EXPECT_EQ(head.core.version(), ViewVersion(2));
}

TEST(Membership, WhoIsHeardAgainIsNotDeclaredDead) {
  One head(head_node);
  head.beat(at(10), zero, 0, {{2, 0}});
  head.beat(at(12), zero, 0);
  head.core.on_timeout(at(15));
  EXPECT_EQ(head.core.version(), ViewVersion(0));
}

// 0 dies; 3 then stands under 2. That 0 once found 3 silent says nothing: 3 had turned away from it.
TEST(Membership, WhatWasFoundInATreeInWhichTheAgentStoodElsewhereDoesNotCount) {
  One head(head_node);
  head.core.on_closed(at(10), zero);
  head.core.on_timeout(at(15));
  ASSERT_EQ(head.core.version(), ViewVersion(1));
  ASSERT_EQ(head.core.shape().parent(three), two);
  head.beat(at(150), one, 0, {{3, 0}});
  head.core.on_timeout(at(200));
  EXPECT_EQ(head.core.version(), ViewVersion(1));
  head.beat(at(210), two, 1, {{3, 1}});
  head.core.on_timeout(at(230));
  EXPECT_EQ(head.core.version(), ViewVersion(2));
}

TEST(Membership, WhatAChildFindsTravelsAtOnceAndOnce) {
  One agent(zero);
  agent.beat(at(1), two, 0, {{3, 0}});
  EXPECT_EQ(agent.said(), (Kinds{{-1, heartbeat}}));
  agent.beat(at(2), two, 0, {{3, 0}});
  EXPECT_TRUE(agent.said().empty());
}

TEST(Membership, AClosedConnectionOfAChildIsReportedAtOnce) {
  One agent(zero);
  agent.core.on_closed(at(1), two);
  EXPECT_EQ(agent.said(), (Kinds{{-1, heartbeat}}));
  agent.core.on_closed(at(2), one);
  EXPECT_TRUE(agent.said().empty()) << "1 is nobody's that 0 watches";
}

TEST(Membership, WhoseParentIsLostAsksThoseAboveAndEndsWhenNoneComes) {
  One agent(two);
  agent.live(0, 1000, {zero});
  agent.core.on_closed(at(1000), zero);
  agent.core.on_timeout(at(1100));
  EXPECT_EQ(agent.said(), (Kinds{{0, heartbeat}, {-1, ask}}));
  agent.live(1150, 5950, {});
  EXPECT_FALSE(agent.core.ended());
  agent.live(6000, 6000, {});
  EXPECT_TRUE(agent.core.ended());
}

TEST(Membership, WhoLeavesWhenTheJobEndsIsNotFoundDead) {
  One head(head_node), agent(zero);
  for (One* one : {&head, &agent}) {
    one->core.on_ending();
    one->core.on_closed(at(1), two);
    one->core.on_closed(at(1), zero);
    one->core.on_closed(at(1), head_node);
    one->live(0, 5000, {});
    EXPECT_FALSE(one->core.ended());
    EXPECT_EQ(one->core.version(), ViewVersion(0));
  }
}

TEST(Membership, WhoWasStoppedDoesNotTakeItsOwnSilenceForThatOfOthers) {
  One agent(zero);
  agent.live(0, 2000, {head_node, two, three});
  agent.core.on_timeout(at(90'000));
  EXPECT_FALSE(agent.core.ended());
  for (auto& [to, kind] : agent.said()) EXPECT_EQ(kind, heartbeat);
  agent.live(90'050, 90'250, {head_node, three});
  agent.core.on_timeout(at(90'299));
  EXPECT_TRUE(agent.said().empty());
  agent.core.on_timeout(at(90'300));
  Kinds said = agent.said();
  EXPECT_EQ(std::ranges::count(said, std::pair(-1, heartbeat)), 2) << "2 is silent still: a word of it, and the regular one";
}

TEST(Membership, WhoIsBusyIsHeardAndHoldsNobodysSilenceAgainstThem) {
  One agent(zero);
  agent.live(0, 2000, {head_node, two, three});
  for (std::int64_t t = 2010; t <= 90'000; t += 10) agent.core.on_busy(at(t));
  const Kinds heard = agent.said();
  for (int to : {-1, 2, 3}) EXPECT_EQ(std::ranges::count(heard, std::pair(to, heartbeat)), 880) << "one each 100 ms, to " << to;
  EXPECT_EQ(std::ranges::count(heard, heartbeat, &Kinds::value_type::second), std::ssize(heard)) << "nothing else";
  agent.live(90'050, 90'350, {head_node, three});
  agent.core.on_timeout(at(90'399));
  EXPECT_TRUE(agent.said().empty()) << "2 has not been silent for long";
  agent.core.on_timeout(at(90'400));
  EXPECT_EQ(std::ranges::count(agent.said(), std::pair(-1, heartbeat)), 2) << "now it has: a word of it, and the regular one";
}

// What the head learns otherwise (the process that stood for an agent has ended) is a death like another, with its cause.
TEST(Membership, TheHeadSaysHowEachWasFoundDead) {
  One head(head_node);
  head.live(0, 300, {zero, one});
  head.beat(at(300), zero, 0, {{3, 0, 450}});
  head.core.on_found_dead(at(301), NodeId(5));
  head.core.on_found_dead(at(301), NodeId(5));
  head.core.on_timeout(at(310));
  Event event;
  ASSERT_TRUE(head.core.poll_event(event));
  EXPECT_EQ(event.dead, (std::vector{three, NodeId(5)}));
  EXPECT_EQ(event.silent_ms, (std::vector{450u, 0u}));
  head.core.on_found_dead(at(311), NodeId(5));
  head.core.on_timeout(at(500));
  EXPECT_FALSE(head.core.poll_event(event)) << "it was declared dead already";
}

}  // namespace
}  // namespace hf::core::membership
