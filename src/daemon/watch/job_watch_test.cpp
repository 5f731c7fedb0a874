#include "daemon/watch/job_watch.hpp"

#include <gtest/gtest.h>

namespace hf::daemon {
namespace {

constexpr std::int64_t second = 1'000'000'000;

class JobWatchTest : public testing::Test {
 protected:
  JobWatch watch_{{0, 0, 1}};

  void event(EventKind kind, int rank, std::uint32_t incarnation, int node = 0) { watch_.on_event(node, {kind, rank, incarnation}, {}); }
  void run(int rank, std::uint32_t incarnation, int node = 0) {
    event(EventKind::started, rank, incarnation, node);
    event(EventKind::initialized, rank, incarnation, node);
  }
  static RankSample values(int rank, std::uint32_t incarnation, std::uint64_t sent, std::uint64_t bytes = 0) {
    RankSample out{rank, incarnation, sent + 1};
    out.counters.messages_sent = sent;
    out.counters.bytes_received = bytes;
    return out;
  }
  void sample(int node, std::int64_t time_ns, const std::vector<RankSample>& ranks) {
    std::vector<std::byte> body;
    ByteWriter out(body);
    out.put(SampleHead{time_ns});
    for (const RankSample& one : ranks) out.put(one);
    watch_.on_sample(node, body);
  }
  void concluded(int rank, std::uint32_t incarnation, std::uint64_t sent) {
    segment::Counters counters{.messages_sent = sent};
    watch_.on_event(0, {EventKind::counters, rank, incarnation}, std::as_bytes(std::span(&counters, 1)));
  }
  WatchedState state(int rank) { return watch_.row(rank).state; }
};

TEST_F(JobWatchTest, StatesFollowTheEvents) {
  EXPECT_EQ(state(0), WatchedState::starting);
  event(EventKind::started, 0, 0);
  EXPECT_EQ(state(0), WatchedState::starting);
  event(EventKind::initialized, 0, 0);
  EXPECT_EQ(state(0), WatchedState::running);
  event(EventKind::died, 0, 0);
  EXPECT_EQ(state(0), WatchedState::dead);
  event(EventKind::started, 0, 1);
  EXPECT_EQ(state(0), WatchedState::replaying);
  event(EventKind::initialized, 0, 1);
  EXPECT_EQ(state(0), WatchedState::replaying);
  event(EventKind::caught_up, 0, 1);
  EXPECT_EQ(state(0), WatchedState::running);
  event(EventKind::exited, 0, 1);
  EXPECT_EQ(state(0), WatchedState::finished);
  EXPECT_EQ(watch_.row(0).incarnation, 1u);
  EXPECT_EQ(watch_.row(0).restarts, 1u);
  EXPECT_EQ(watch_.states()[static_cast<int>(WatchedState::starting)], 2);
}

TEST_F(JobWatchTest, RatesAreOfTwoSamples) {
  run(0, 0);
  sample(0, 10 * second, {values(0, 0, 100, 1000)});
  EXPECT_EQ(watch_.row(0).messages_sent_per_s, 0);
  sample(0, 12 * second, {values(0, 0, 300, 9000)});
  EXPECT_DOUBLE_EQ(watch_.row(0).messages_sent_per_s, 100);
  EXPECT_DOUBLE_EQ(watch_.row(0).bytes_received_per_s, 4000);
  EXPECT_EQ(watch_.row(0).totals.messages_sent, 300u);
  EXPECT_DOUBLE_EQ(watch_.sum().messages_sent_per_s, 100);
  watch_.begin();
  sample(0, 99 * second, {values(0, 0, 400, 9000)});
  EXPECT_EQ(watch_.row(0).messages_sent_per_s, 0) << "the time in which nobody watched counts";
}

TEST_F(JobWatchTest, TotalsAreOfAllIncarnationsAndNeverGoDown) {
  run(0, 0);
  sample(0, 1 * second, {values(0, 0, 100)});
  event(EventKind::died, 0, 0);
  EXPECT_EQ(watch_.row(0).totals.messages_sent, 100u);
  concluded(0, 0, 120);
  EXPECT_EQ(watch_.row(0).totals.messages_sent, 120u);
  sample(0, 2 * second, {values(0, 0, 110)});  // was on its way
  EXPECT_EQ(watch_.row(0).totals.messages_sent, 120u);
  run(0, 1);
  EXPECT_EQ(watch_.row(0).totals.messages_sent, 120u);
  sample(0, 3 * second, {values(0, 1, 7)});
  EXPECT_EQ(watch_.row(0).totals.messages_sent, 127u);
  EXPECT_EQ(watch_.row(0).messages_sent_per_s, 0) << "a rate across incarnations";
  concluded(0, 0, 999);
  EXPECT_EQ(watch_.row(0).totals.messages_sent, 127u);
}

TEST_F(JobWatchTest, ALostNodeTakesNothingBack) {
  run(2, 0, 1);
  sample(1, 1 * second, {values(2, 0, 50)});
  watch_.on_moved(2, 0);
  EXPECT_EQ(state(2), WatchedState::dead);
  sample(1, 2 * second, {values(2, 0, 60)});  // of the node that is declared lost
  EXPECT_EQ(watch_.row(2).totals.messages_sent, 50u);
  run(2, 22, 0);
  sample(0, 3 * second, {values(2, 22, 4)});
  EXPECT_EQ(watch_.row(2).totals.messages_sent, 54u);
  EXPECT_EQ(watch_.row(2).node, 0);
  EXPECT_EQ(watch_.row(2).restarts, 1u);
}

// Rank 2 was moved, and goes on there; then another head goes on, which hears of its present agent's incarnations alone.
TEST_F(JobWatchTest, AnotherHeadTakesNothingBack) {
  run(2, 0, 1);
  sample(1, 1 * second, {values(2, 0, 50)});
  watch_.on_moved(2, 0);
  run(2, 22, 0);
  sample(0, 2 * second, {values(2, 22, 4)});
  JobWatch next({0, 0, 1});
  for (int rank = 0; rank < 3; ++rank) next.recall(rank, watch_.row(rank).node, watch_.past(rank));
  watch_ = std::move(next);
  EXPECT_EQ(watch_.row(2).totals.messages_sent, 54u) << "before anybody has told it anything";
  EXPECT_EQ(watch_.row(2).restarts, 1u);
  EXPECT_EQ(watch_.row(2).node, 0);
  watch_.on_moved(2, 0);
  run(2, 22, 0);  // told again
  EXPECT_EQ(state(2), WatchedState::replaying);
  event(EventKind::caught_up, 2, 22);
  EXPECT_EQ(state(2), WatchedState::running);
  concluded(2, 22, 6);
  event(EventKind::died, 2, 22);
  EXPECT_EQ(state(2), WatchedState::dead);
  EXPECT_EQ(watch_.row(2).restarts, 1u);
  EXPECT_EQ(watch_.row(2).totals.messages_sent, 56u);
  run(2, 23, 0);  // meanwhile
  sample(0, 3 * second, {values(2, 23, 1)});
  EXPECT_EQ(watch_.row(2).restarts, 2u);
  EXPECT_EQ(watch_.row(2).totals.messages_sent, 57u);
}

TEST_F(JobWatchTest, WaitsAreToldWithTheirTime) {
  run(0, 0);
  RankSample waits = values(0, 0, 1);
  waits.waiting = segment::waiting_word({Rank(1), 7'500});
  sample(0, 10 * second, {waits});
  EXPECT_EQ(state(0), WatchedState::waiting);
  EXPECT_EQ(watch_.row(0).waits_for, Rank(1));
  EXPECT_DOUBLE_EQ(watch_.row(0).waits_s, 2.5);
  event(EventKind::died, 0, 0);
  EXPECT_EQ(watch_.row(0).waits_for, segment::no_rank);
  event(EventKind::started, 0, 1);
  EXPECT_EQ(watch_.row(0).waits_s, 0) << "the wait of the one before";
}

TEST_F(JobWatchTest, CountsSamplesOfTheSlowestNode) {
  EXPECT_EQ(watch_.samples(), 0);
  sample(0, second, {});
  sample(0, second, {});
  EXPECT_EQ(watch_.samples(), 0);
  sample(1, second, {});
  EXPECT_EQ(watch_.samples(), 1);
  watch_.begin();
  EXPECT_EQ(watch_.samples(), 0);
}

TEST_F(JobWatchTest, NonsenseIsIgnored) {
  run(0, 0);
  sample(0, second, {values(-1, 0, 1), values(3, 0, 1), values(2, 0, 1)});
  watch_.on_sample(0, bytes_of("x"));
  std::vector<std::byte> cut(sizeof(SampleHead) + sizeof(RankSample) - 1);
  watch_.on_sample(0, cut);
  event(EventKind::died, 3, 0);
  watch_.on_event(0, {EventKind::counters, 0, 0}, bytes_of("short"));
  RankSample waits = values(0, 0, 1);
  waits.waiting = UINT64_MAX;
  sample(0, 2 * second, {waits});
  EXPECT_EQ(watch_.row(0).waits_s, 0);
  EXPECT_EQ(watch_.row(2).totals.messages_sent, 0u);
  EXPECT_EQ(watch_.sum().totals.messages_sent, 1u);
}

TEST_F(JobWatchTest, UnprotectedIsOfTheRankNamed) {
  watch_.on_event(0, {EventKind::unprotect, 0, 0, 0, 0, 1}, {});
  EXPECT_FALSE(watch_.row(0).unprotected);
  EXPECT_TRUE(watch_.row(1).unprotected);
  watch_.on_event(0, {EventKind::unprotect, 0, 0, 0, 0, 77}, {});
}

}  // namespace
}  // namespace hf::daemon
