// Random programs, random networks, random deaths: whatever a rank has shown to others, its next incarnation does again
// (paper 000, II.C-D: the always no-orphan condition). The program is a function of what it has observed, so that one
// wrong answer in a replay makes everything after it differ.
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "base/test_seed.hpp"
#include "core/vprotocol/test_rank.hpp"

namespace hf::core::vprotocol {
namespace {

constexpr int sources = 3;
constexpr int requests_max = 6;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
  return x ^ x >> 32;
}

// The messages of the other ranks: the same in every run; only when they arrive differs.
MessageTag tag_of(std::uint64_t job, int source, std::uint64_t number) {
  return MessageTag{static_cast<std::int32_t>(mix(mix(job, static_cast<std::uint64_t>(source)), number) % 2)};
}

// One incarnation: the program runs on it until it dies or has made so many steps.
class Run {
 public:
  Run(StableStore& store, std::uint64_t job, std::uint64_t network, bool stores_at_once)
      : store_(store), rank_(store, sources, stores_at_once), job_(job), draw_(network), at_once_(stores_at_once) {}

  void go(int steps) {
    EXPECT_TRUE(rank_.loaded());
    for (int i = 0; i < steps && !stuck_; ++i) {
      step();
      while (draw_() % 3 == 0) arrive();
      if (!at_once_ && draw_() % 3 == 0) store_some();
      if (stuck_) break;
    }
  }
  bool stuck() const { return stuck_; }
  bool caught_up() const { return !rank_.replaying(); }
  const std::vector<std::uint64_t>& observed() const { return observed_; }
  // What others may know of: the observations made before the last frame that has left.
  std::size_t shown() const { return at_once_ ? observed_.size() : shown_; }

 private:
  struct Open {
    TestRank::Request* request;
  };

  void step() {
    std::uint64_t choice = mix(state_, 0);
    switch (choice % 12) {
      case 0: case 1: case 2: return post(choice >> 8);
      case 3: case 4: return wait_one(choice >> 8);
      case 5: case 6: return test();
      case 7: return wait_any();
      case 8: return cancel(choice >> 8);
      case 9: return probe(choice >> 8);
      case 10: return iprobe(choice >> 8);
      default: return choice >> 8 & 1 ? send() : time();
    }
  }
  void observe(std::uint64_t what) {
    observed_.push_back(what);
    state_ = mix(state_ + job_, what);
  }
  static std::uint64_t name(const TestRank::Message& m) { return static_cast<std::uint64_t>(m.source.value) << 32 | m.number; }

  void post(std::uint64_t choice) {
    if (open_.size() >= requests_max) return wait_one(choice);
    Rank source = choice % 3 ? any_rank : Rank{static_cast<std::int32_t>(choice / 3 % sources)};
    MessageTag tag = choice / 16 % 3 ? any_tag : MessageTag{static_cast<std::int32_t>(choice / 64 % 2)};
    open_.push_back({&rank_.post(source, tag)});
    observe(1);
  }
  // Blocks, as MPI_Wait does: messages arrive until the request is matched.
  bool await(TestRank::Request& r) {
    for (int i = 0; !r.matched; ++i) {
      if (i > 4000) return !(stuck_ = true);
      arrive();
      rank_.after();
    }
    return true;
  }
  void wait_one(std::uint64_t choice) {
    if (open_.empty()) return observe(2);
    auto it = open_.begin() + static_cast<std::ptrdiff_t>(choice % open_.size());
    if (!await(*it->request)) return;
    observe(name(*it->request->message));
    open_.erase(it);
  }
  void test() {
    auto plan = rank_.begin_test();
    if (plan.kind == Replay::Test::free) {
      std::vector<std::int32_t> found = look();
      if (draw_() % 3 == 0) found.clear();  // matched, but the payload is still under way
      rank_.end_test(found);
      return complete(found);
    }
    replay_test(plan);
  }
  void wait_any() {
    if (open_.empty()) return observe(3);
    auto plan = rank_.begin_test();
    if (plan.kind != Replay::Test::free) return replay_test(plan);
    std::vector<std::int32_t> found;
    for (int i = 0; (found = look()).empty(); ++i) {
      if (i > 4000) {
        stuck_ = true;
        return;
      }
      arrive();
    }
    found.resize(1);
    rank_.end_test(found);
    complete(found);
  }
  // Indices of matched requests, shuffled: the order returned is the library's choice.
  std::vector<std::int32_t> look() {
    std::vector<std::int32_t> found;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (open_[i].request->matched && draw_() % 4) found.push_back(static_cast<std::int32_t>(i));
    }
    std::shuffle(found.begin(), found.end(), draw_);
    return found;
  }
  void replay_test(const Replay::Test& plan) {
    ASSERT_NE(plan.kind, Replay::Test::diverged);
    std::vector<std::int32_t> which(plan.which.begin(), plan.which.end());
    for (std::int32_t index : which) {
      ASSERT_LT(static_cast<std::size_t>(index), open_.size());
      if (!await(*open_[static_cast<std::size_t>(index)].request)) return;
    }
    rank_.after();
    complete(which);
  }
  void complete(const std::vector<std::int32_t>& found) {
    observe(4 + found.size());
    for (std::int32_t index : found) {
      observe(static_cast<std::uint64_t>(index) << 48 ^ name(*open_[static_cast<std::size_t>(index)].request->message));
    }
    std::vector<Open> left;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (std::find(found.begin(), found.end(), static_cast<std::int32_t>(i)) == found.end()) left.push_back(open_[i]);
    }
    open_ = left;
  }
  void cancel(std::uint64_t choice) {
    if (open_.empty()) return observe(5);
    auto it = open_.begin() + static_cast<std::ptrdiff_t>(choice % open_.size());
    bool cancelled = rank_.cancel(*it->request);
    observe(cancelled ? 6 : 7);
    if (!cancelled && await(*it->request)) observe(name(*it->request->message));
    open_.erase(it);
  }
  void probe(std::uint64_t choice) {
    Rank source = choice % 2 ? any_rank : Rank{static_cast<std::int32_t>(choice / 2 % sources)};
    // A probe waits for messages that no open receive takes: finish those first, as a sane program would.
    while (!open_.empty() && !stuck_) wait_one(0);
    if (stuck_) return;
    auto probe = rank_.begin_probe(source, any_tag);
    TestRank::Message* found = nullptr;
    for (int i = 0; !(found = rank_.look(probe)); ++i) {
      if (i > 4000) {
        stuck_ = true;
        return;
      }
      arrive();
      rank_.after();
    }
    observe(name(*found));
  }
  void iprobe(std::uint64_t choice) {
    Rank source = choice % 2 ? any_rank : Rank{static_cast<std::int32_t>(choice / 2 % sources)};
    auto plan = rank_.begin_test();
    if (plan.kind == Replay::Test::nothing) return observe(8);
    TestRank::Message* found = nullptr;
    if (plan.kind == Replay::Test::exactly) {
      for (int i = 0; !(found = rank_.peek(Rank{plan.which[0]}, any_tag)); ++i) {
        if (i > 4000) {
          stuck_ = true;
          return;
        }
        arrive();
      }
      rank_.after();
    } else {
      found = rank_.peek(source, any_tag);
      std::int32_t index = found ? found->source.value : 0;
      rank_.end_test(std::span(&index, found ? 1 : 0));
    }
    observe(found ? name(*found) : 8);
  }
  void time() { observe(static_cast<std::uint64_t>(rank_.time(static_cast<double>(draw_() % 1000)))); }
  void send() {
    // Its content is all that the program has observed.
    std::string frame = std::to_string(sends_++) + ":" + std::to_string(state_);
    auto sent = rank_.send(sends_ % 2 ? wire::FrameKind::eager : wire::FrameKind::rendezvous, frame);
    if (sent != TestRank::Sent::waits) shown_ = std::max(shown_, observed_.size());
    else waiting_.push_back(observed_.size());
    observe(9);
  }
  void store_some() {
    std::uint64_t more = rank_.unstable() ? 1 + draw_() % rank_.unstable() : 0;
    for (std::size_t n = rank_.stored(rank_.stored_count() + more).size(); n > 0; --n) {
      shown_ = std::max(shown_, waiting_.front());
      waiting_.pop_front();
    }
  }
  void arrive() {
    Rank from{static_cast<std::int32_t>(draw_() % sources)};
    std::uint64_t number = rank_.arrived(from);
    if (draw_() % 5 == 0) number -= number ? 1 + draw_() % std::min<std::uint64_t>(number, 4) : 0;  // once more
    auto arrival = rank_.arrive(from, tag_of(job_, from.value, number), number, false);
    ASSERT_EQ(arrival.verdict == match::Arrivals::Verdict::take, arrival.message != nullptr);
  }

  StableStore& store_;
  TestRank rank_;
  std::uint64_t job_;
  std::mt19937_64 draw_;
  bool at_once_;
  std::uint64_t state_ = 1;
  std::vector<std::uint64_t> observed_;
  std::vector<Open> open_;
  std::uint64_t sends_ = 0;
  std::deque<std::size_t> waiting_;
  std::size_t shown_ = 0;
  bool stuck_ = false;
};

void live_and_die(bool stores_at_once) {
  std::uint64_t seed = test_seed();
  int replays = 0;
  for (std::uint64_t job = seed; job < seed + 400; ++job) {
    SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(job));
    std::mt19937_64 draw(job);
    StableStore store;
    std::vector<std::uint64_t> shown;
    for (int incarnation = 0; incarnation < 5; ++incarnation) {
      bool last = incarnation == 4;
      Run run(store, job, draw(), stores_at_once);
      run.go(last ? 300 : static_cast<int>(draw() % 120));
      if (testing::Test::HasFatalFailure()) return;
      ASSERT_FALSE(run.stuck()) << "incarnation " << incarnation << " waits for ever";
      const auto& observed = run.observed();
      for (std::size_t i = 0; i < std::min(shown.size(), observed.size()); ++i) {
        ASSERT_EQ(observed[i], shown[i]) << "incarnation " << incarnation << ", observation " << i << " of " << shown.size();
      }
      if (last) {
        ASSERT_TRUE(run.caught_up());
      }
      replays += incarnation > 0 && !shown.empty();
      if (run.shown() > shown.size()) shown.assign(observed.begin(), observed.begin() + static_cast<std::ptrdiff_t>(run.shown()));
    }
  }
  EXPECT_GT(replays, 1000);
}

TEST(History, WhatWasStoredAtOnceIsDoneAgain) { live_and_die(true); }
TEST(History, WhatOthersWereShownIsDoneAgain) { live_and_die(false); }

}  // namespace
}  // namespace hf::core::vprotocol
