#include "recorder/thread_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <vector>

#include "base/test_seed.hpp"
#include "recorder/test_owner.hpp"

namespace hf::recorder {
namespace {

struct Step {
  ThreadNumber thread;
  Operation operation;
  Outcome outcome;
  bool operator==(const Step&) const = default;
};

// What the incarnations of a rank leave.
struct Past {
  std::vector<std::byte> events;
  std::uint64_t word = 0;
};

class Order : public ::testing::Test {
 protected:
  void SetUp() override { written.clear(); }

  static ThreadOrder next(const Past& past) {
    ThreadOrder order({append, diverged});
    order.load(past.events.data(), past.events.size(), past.word);
    order.begin(1000);
    return order;
  }
  // As its threads would: whoever's turn it is, while it replays.
  static Step step(ThreadOrder& order, Step wanted, std::uint64_t now = 1000) {
    if (order.replaying()) {
      if (!order.fits(wanted.thread, wanted.operation)) throw std::runtime_error("does not fit");
      wanted.outcome = order.outcome();
    }
    wanted.outcome = order.take(wanted.thread, wanted.operation, wanted.outcome, now);
    return wanted;
  }
  static void end(Past& past, const ThreadOrder& order, bool word = true) {
    past.events.insert(past.events.end(), written.begin(), written.end());
    past.word = word ? std::max(past.word, order.word(1000)) : 0;
    written.clear();
  }
};

constexpr Step lock(ThreadNumber thread) { return {thread, Operation::lock, Outcome::done}; }
constexpr Step attempt(ThreadNumber thread, Outcome outcome) { return {thread, Operation::attempt, outcome}; }
constexpr Step call(ThreadNumber thread) { return {thread, Operation::mpi, Outcome::done}; }

TEST_F(Order, OneThreadWritesOneEvent) {
  ThreadOrder order = next({});
  for (int i = 0; i < 1000; ++i) step(order, lock(1));
  EXPECT_EQ(written.size(), 16u);
  step(order, lock(2));
  step(order, lock(1));
  EXPECT_EQ(written.size(), 48u);
}

TEST_F(Order, AttemptsThatFailInARowAreOneEvent) {
  ThreadOrder order = next({});
  for (int i = 0; i < 1000; ++i) step(order, attempt(1, Outcome::busy));
  step(order, attempt(1, Outcome::done));
  EXPECT_EQ(written.size(), 32u);
}

TEST_F(Order, ComesAgain) {
  const std::vector<Step> steps = {lock(1), call(1), lock(2), attempt(2, Outcome::busy), call(2), lock(2), lock(1), call(1)};
  Past past;
  ThreadOrder first = next(past);
  for (Step s : steps) step(first, s);
  end(past, first);
  ThreadOrder second = next(past);
  for (Step s : steps) {
    ASSERT_TRUE(second.replaying());
    EXPECT_EQ(second.thread(), s.thread);
    EXPECT_EQ(second.outcome(), s.outcome);
    EXPECT_EQ(step(second, s), s);
  }
  EXPECT_FALSE(second.replaying());
  EXPECT_EQ(second.next(), steps.size() + 1);
  EXPECT_TRUE(second.several_call());
}

TEST_F(Order, WhatStandsBehindTheLastEventIsOfItsThread) {
  Past past;
  ThreadOrder first = next(past);
  step(first, lock(1));
  for (int i = 0; i < 4; ++i) step(first, lock(2));
  end(past, first);
  ThreadOrder second = next(past);
  step(second, lock(1));
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(second.replaying()) << i;
    ASSERT_EQ(second.thread(), 2);
    step(second, lock(2));
  }
  EXPECT_FALSE(second.replaying());
}

TEST_F(Order, AFlushTellsOfThem) {
  Past past;
  ThreadOrder first = next(past);
  step(first, lock(1));
  for (int i = 0; i < 4; ++i) step(first, lock(2));
  first.flush(1000);
  const std::size_t flushed = written.size();
  EXPECT_EQ(flushed, 48u);
  first.flush(1000);
  EXPECT_EQ(written.size(), flushed);
  end(past, first, false);
  ThreadOrder second = next(past);
  step(second, lock(1));
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(second.replaying()) << i;
    step(second, lock(2));
  }
  EXPECT_FALSE(second.replaying());
}

// The replay's frames depend on what only the word told of.
TEST_F(Order, WhatOnlyTheWordToldOfIsRecordedAgain) {
  Past past;
  ThreadOrder first = next(past);
  for (int i = 0; i < 5; ++i) step(first, lock(2));
  end(past, first);
  ThreadOrder second = next(past);
  for (int i = 0; i < 3; ++i) step(second, lock(2));
  second.flush(1000);
  end(past, second, false);
  ThreadOrder third = next(past);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(third.replaying()) << i;
    step(third, lock(2));
  }
  EXPECT_FALSE(third.replaying());
}

TEST_F(Order, TimeThatItTookIsKnown) {
  Past past;
  ThreadOrder first = next(past);
  step(first, lock(1), 1000);
  step(first, lock(2), 1500);
  step(first, lock(2), 1700);
  past.events = written;
  past.word = first.word(9500);
  ThreadOrder second = next(past);
  EXPECT_EQ(second.span_ms(), 500u);
  step(second, lock(1));
  step(second, lock(2));
  EXPECT_EQ(second.span_ms(), 8000u);
}

TEST_F(Order, OtherOperationsAreSeen) {
  Past past;
  ThreadOrder first = next(past);
  step(first, lock(1));
  step(first, lock(2));
  end(past, first);
  EXPECT_THROW({ ThreadOrder o = next(past); step(o, call(1)); }, std::runtime_error);
  EXPECT_THROW({ ThreadOrder o = next(past); step(o, lock(2)); }, std::runtime_error);
  Past twice = past;
  twice.events.insert(twice.events.end(), past.events.begin(), past.events.end());
  EXPECT_THROW(next(twice), std::runtime_error) << "numbers go up";
}

TEST_F(Order, WhoCallsIsKnownFromItsEvents) {
  Past past;
  ThreadOrder first = next(past);
  step(first, lock(1));
  step(first, call(1));
  step(first, lock(2));
  EXPECT_FALSE(first.several_call());
  end(past, first);
  EXPECT_FALSE(next(past).several_called());
  step(first, call(2));
  end(past, first);
  ThreadOrder second = next(past);
  EXPECT_TRUE(second.several_called());
  for (Step s : {lock(1), call(1), lock(2)}) step(second, s);
  EXPECT_FALSE(second.several_call()) << "not yet";
  step(second, call(2));
  EXPECT_TRUE(second.several_call());
}

TEST_F(Order, GivenUpItStaysSo) {
  Past past;
  ThreadOrder first = next(past);
  step(first, lock(1));
  end(past, first);
  ThreadOrder second = next(past);
  EXPECT_TRUE(second.replaying());
  second.give_up();
  EXPECT_FALSE(second.replaying());
  end(past, second);
  const ThreadOrder third = next(past);
  EXPECT_FALSE(third.replaying());
  EXPECT_TRUE(third.is_given_up());
}

// Whatever the threads did, and wherever the incarnations died, with the word or without it after a flush.
TEST_F(Order, AnyRunComesAgain) {
  const std::uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  for (int run = 0; run < 300; ++run) {
    std::vector<Step> steps;
    Past past;
    for (int incarnation = 0; incarnation < 5; ++incarnation) {
      ThreadOrder order = next(past);
      const bool loses_node = random() % 2 == 0;
      std::size_t stable = 0, done = 0;
      for (std::size_t n = random() % 60; done < n || order.replaying(); ++done) {
        if (n < steps.size() / 2 && done == n) break;  // it dies in the replay
        const auto thread = static_cast<ThreadNumber>(1 + random() % 3);
        Step wanted = random() % 3 == 0 ? attempt(thread, random() % 2 == 0 ? Outcome::busy : Outcome::done) : lock(thread);
        if (!steps.empty() && random() % 2 == 0) wanted.thread = steps.back().thread;
        if (order.replaying()) {
          ASSERT_LT(done, steps.size()) << "seed " << seed;
          wanted = steps[done];
          ASSERT_EQ(order.thread(), wanted.thread) << "seed " << seed;
        }
        wanted = step(order, wanted);
        if (done < steps.size() && order.next() - 1 <= steps.size()) {
          ASSERT_EQ(wanted, steps[done]) << "seed " << seed;
        } else {
          steps.push_back(wanted);
        }
        if (random() % 8 == 0) order.flush(1000), stable = done + 1;
      }
      if (!loses_node) {
        end(past, order);
        continue;
      }
      // What was behind the last flush may be forgotten; what was flushed may not.
      end(past, order, false);
      std::size_t known = 0;
      for (ThreadOrder look = next(past); look.replaying(); ++known) step(look, steps[known]);
      ASSERT_GE(known, stable) << "seed " << seed;
      steps.resize(known);
    }
  }
}

}  // namespace
}  // namespace hf::recorder
