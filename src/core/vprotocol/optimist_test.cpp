// The policy of a rank under optimist, by itself: what is merged and recorded when, what waits for what, which messages are orphans.
#include "core/vprotocol/optimist.hpp"

#include <gtest/gtest.h>

namespace hf::core::vprotocol {
namespace {

using List = std::vector<Dependency>;

Dependency dependency(int rank, std::uint32_t term, std::uint64_t position) { return {Rank(rank), Term(term), position}; }

// What the engine does, with the stream in memory.
struct Joined {
  explicit Joined(int self) : optimist(Rank(self), stable) { events.record_failed_tests(); }
  void restart(std::uint32_t term) {
    for (std::size_t at = 0; at < stream.size();) {
      EventHead head;
      std::memcpy(&head, stream.data() + at, sizeof(head));
      std::vector<std::int32_t> indices(head.kind == EventKind::delivery ? head.count : 0);
      if (!indices.empty()) std::memcpy(indices.data(), stream.data() + at + sizeof(head), indices.size() * 4);
      EXPECT_TRUE(events.replay().load(head, indices));
      at += encoded_bytes(head);
    }
    EXPECT_TRUE(events.replay().end_loading());
    events.begin(true);
    optimist.begin(Term(term), stream);
  }
  void store() {
    optimist.on_stored(stream.size(), events);
    stream.insert(stream.end(), events.events().begin(), events.events().end());
    events.events_taken();
  }
  void match(int source) {
    match::Posted receive;
    receive.any_source = true;
    const RequestNumber number = events.on_post(receive);
    events.on_match(number, true, receive.source != any_rank, Rank(source));
    store();
  }
  void test(std::vector<std::int32_t> found) {
    EXPECT_EQ(events.on_test().kind, Replay::Test::free);
    events.on_test_result(found);
    store();
  }
  std::vector<EventHead> heads() const {
    std::vector<EventHead> out;
    for (std::size_t at = 0; at < stream.size(); at += encoded_bytes(out.back())) {
      std::memcpy(&out.emplace_back(), stream.data() + at, sizeof(EventHead));
    }
    return out;
  }
  Pessimist events;
  StableVector stable;
  Optimist optimist;
  std::vector<std::byte> stream;
};

std::vector<EventKind> kinds(const Joined& rank) {
  std::vector<EventKind> out;
  for (const EventHead& head : rank.heads()) out.push_back(head.kind);
  return out;
}

TEST(Optimist, WhatAMessageDependsOnIsRecordedBeforeItsMatch) {
  Joined rank(1);
  IncomingDependencies from;
  from.on_dependencies(0, Incarnation{}, List{dependency(0, 0, 16)});
  EXPECT_TRUE(from.has_for(0));
  EXPECT_TRUE(rank.optimist.vector().empty()) << "it has arrived, and nobody has looked at it";
  EXPECT_TRUE(rank.optimist.on_seen(from, 0, rank.events));
  rank.match(0);
  EXPECT_EQ(kinds(rank), (std::vector{EventKind::dependency, EventKind::match}));
  EXPECT_EQ(rank.optimist.vector().entries(), (List{dependency(0, 0, 16), dependency(1, 0, 32)}));
  EXPECT_FALSE(from.has_for(5));
}

TEST(Optimist, RecordsAreNoEventsOfTheRank) {
  Joined rank(1);
  IncomingDependencies from;
  from.on_dependencies(0, Incarnation{}, List{dependency(0, 0, 16)});
  rank.optimist.on_seen(from, 0, rank.events);
  rank.store();
  EXPECT_EQ(rank.optimist.vector().entries(), (List{dependency(0, 0, 16)}));
  rank.match(0);
  from.on_dependencies(1, Incarnation{}, List{dependency(0, 0, 48)});
  rank.optimist.on_seen(from, 1, rank.events);
  rank.store();
  EXPECT_EQ(rank.optimist.vector().entries(), (List{dependency(0, 0, 48), dependency(1, 0, 32)})) << "not 48, where the record ends";
}

TEST(Optimist, EarlierMessagesOfThePeerAreMergedToo) {
  Joined rank(1);
  IncomingDependencies from;
  from.on_dependencies(0, Incarnation{}, List{dependency(0, 0, 16)});
  from.on_dependencies(2, Incarnation{}, List{dependency(0, 0, 32), dependency(3, 0, 16)});
  from.on_dependencies(3, Incarnation{}, List{dependency(3, 0, 64)});
  rank.optimist.on_seen(from, 2, rank.events);
  EXPECT_EQ(rank.optimist.vector().entries(), (List{dependency(0, 0, 32), dependency(3, 0, 16)}));
  EXPECT_FALSE(from.has_for(2));
  EXPECT_TRUE(from.has_for(3));
}

TEST(Optimist, StableEntriesAreNeitherMergedNorRecorded) {
  Joined rank(1);
  IncomingDependencies from;
  from.on_dependencies(0, Incarnation{}, List{dependency(0, 0, 16), dependency(2, 0, 16)});
  rank.stable.raise(dependency(0, 0, 16));
  rank.optimist.on_seen(from, 0, rank.events);
  rank.store();
  EXPECT_EQ(kinds(rank).size(), 1u);
  EXPECT_EQ(rank.optimist.vector().entries(), (List{dependency(2, 0, 16)}));
}

TEST(Optimist, TheStreamSaysItAgainAfterARestart) {
  Joined before(1);
  IncomingDependencies from;
  from.on_dependencies(0, Incarnation{}, List{dependency(0, 0, 16)});
  before.optimist.on_seen(from, 0, before.events);
  before.match(0);
  Joined rank(1);
  rank.stream = before.stream;
  rank.restart(0);
  EXPECT_EQ(rank.optimist.vector().entries(), (List{dependency(0, 0, 16), dependency(1, 0, 32)}));
  EXPECT_TRUE(rank.events.replaying());
  // The same message, with more: its sender has said all that it depends on.
  IncomingDependencies again;
  again.on_dependencies(0, Incarnation{}, List{dependency(0, 0, 16), dependency(2, 0, 16)});
  rank.optimist.on_seen(again, 0, rank.events);
  rank.match(0);
  EXPECT_EQ(kinds(rank), (std::vector{EventKind::dependency, EventKind::match, EventKind::dependency}));
  EXPECT_EQ(rank.optimist.vector().entries().size(), 3u) << "in a replay too";
}

TEST(Optimist, AnOrphanGoesNoFurther) {
  Joined rank(1);
  IncomingDependencies from;
  from.on_dependencies(0, Incarnation{}, List{dependency(0, 0, 16)});
  rank.optimist.on_seen(from, 0, rank.events);
  rank.store();
  EXPECT_FALSE(rank.optimist.offer(7));
  rank.optimist.cuts().add(Rank(0), Term(1), 0);
  EXPECT_FALSE(rank.optimist.look());
  EXPECT_TRUE(rank.optimist.is_orphan());
  rank.stable.raise(dependency(0, 1, 64));
  EXPECT_FALSE(rank.optimist.look());
  Effects::Token token;
  EXPECT_FALSE(rank.optimist.poll_released(token)) << "the event that it waits for will never be";
  EXPECT_EQ(first_lost(rank.stream, rank.optimist.cuts()), 0u);
}

TEST(Optimist, WhatLeavesTheJobWaits) {
  Joined rank(1);
  Effects::Token token;
  EXPECT_TRUE(rank.optimist.offer(1)) << "it depends on nothing";
  rank.match(0);
  EXPECT_FALSE(rank.optimist.offer(2));
  IncomingDependencies from;
  from.on_dependencies(0, Incarnation{}, List{dependency(0, 0, 16)});
  rank.optimist.on_seen(from, 0, rank.events);
  rank.store();
  EXPECT_FALSE(rank.optimist.offer(3));
  rank.stable.raise(dependency(1, 0, 16));
  rank.optimist.look();
  ASSERT_TRUE(rank.optimist.poll_released(token));
  EXPECT_EQ(token, 2u);
  EXPECT_FALSE(rank.optimist.poll_released(token)) << "(0, 16) is not";
  rank.stable.raise(dependency(0, 1, 16));
  EXPECT_FALSE(rank.optimist.poll_released(token)) << "of another term";
  rank.optimist.cuts().add(Rank(0), Term(1), 16);
  ASSERT_TRUE(rank.optimist.poll_released(token)) << "kept, and stable under the new one";
  EXPECT_EQ(token, 3u);
  EXPECT_FALSE(rank.optimist.has_held());
}

TEST(Optimist, OrphanedMessages) {
  IncomingDependencies from;
  CutTable cuts;
  from.on_dependencies(3, Incarnation{}, List{dependency(0, 0, 16)});
  from.on_dependencies(5, Incarnation{}, List{dependency(0, 0, 48), dependency(2, 0, 16)});
  from.on_dependencies(6, Incarnation{}, List{dependency(2, 0, 32)});
  EXPECT_EQ(from.first_lost(cuts), std::nullopt);
  cuts.add(Rank(0), Term(1), 32);
  EXPECT_EQ(from.first_lost(cuts), (IncomingDependencies::Lost{5, Incarnation{}}));
  from.forget_from(5);
  EXPECT_EQ(from.first_lost(cuts), std::nullopt);
  EXPECT_TRUE(from.has_for(3));
  from.on_dependencies(7, Incarnation{2}, List{dependency(0, 0, 32)});   // lost too, and sent by a newer one
  from.on_dependencies(9, Incarnation{3}, List{dependency(2, 0, 64)});   // newer still, and good
  cuts.add(Rank(0), Term(2), 0);
  EXPECT_EQ(from.first_lost(cuts), (IncomingDependencies::Lost{3, Incarnation{2}}));
  from.clear();
  EXPECT_TRUE(from.empty());
}

// ---- runs of tests that found nothing

TEST(Optimist, ARunOfFailedTestsIsAnEventBeforeWhatFollowsIt) {
  Joined rank(1);
  rank.test({});
  rank.test({});
  EXPECT_TRUE(rank.stream.empty()) << "nobody has heard of the rank since";
  rank.events.close_failed_run();
  rank.store();
  rank.events.close_failed_run();
  rank.store();
  rank.test({});
  rank.match(0);
  rank.test({});
  rank.test({0});
  const auto heads = rank.heads();
  ASSERT_EQ(heads.size(), 4u);
  EXPECT_EQ(heads[0].kind, EventKind::delivery);
  EXPECT_EQ(heads[0].count, 0u);
  EXPECT_EQ(heads[0].key, 2u);
  EXPECT_EQ(heads[1].key, 3u) << "before the match";
  EXPECT_EQ(heads[2].kind, EventKind::match);
  EXPECT_EQ(heads[3].key, 5u) << "the success takes the place of test 4";
  EXPECT_EQ(heads[3].count, 1u);
}

TEST(Optimist, ARunOfFailedTestsIsReplayed) {
  Joined before(1);
  for (int i = 0; i < 3; ++i) before.test({});
  before.events.close_failed_run();
  before.store();
  Joined rank(1);
  rank.stream = before.stream;
  rank.events.replay().load_last_failed(TestClock{5});  // of a predecessor on this node: two more, which no event tells of
  rank.restart(0);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(rank.events.on_test().kind, Replay::Test::nothing);
  EXPECT_TRUE(rank.events.poll_caught_up());
  rank.events.close_failed_run();
  rank.store();
  ASSERT_EQ(rank.heads().size(), 2u);
  EXPECT_EQ(rank.heads()[1].key, 5u) << "they are told of now";
  rank.test({0});
  EXPECT_EQ(rank.heads().back().key, 6u);
}

}  // namespace
}  // namespace hf::core::vprotocol
