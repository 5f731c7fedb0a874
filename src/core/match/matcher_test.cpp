// The matcher against a naive model with plain lists, and the rules of MPI 5.0, 3.5 that both must keep.
#include "core/match/matcher.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <vector>

#include "base/test_seed.hpp"

namespace hf::core::match {
namespace {

struct Receive : Posted {
  int id = 0;
};
struct Message : Arrived {
  int id = 0;
};

// Says again, without cleverness, what the header says.
class Model {
 public:
  int post(Receive r) {
    for (const Message& m : messages_) {
      if (r.mode != Mode::free || !takes(r.source, r.tag, m)) continue;
      if (!waits(m)) return erase_message(m.id);
      r.mode = Mode::held;
    }
    posted_.push_back(r);
    return 0;
  }
  int arrive(const Message& m) {
    for (std::size_t i = 0; i < posted_.size(); ++i) {
      if (!takes(posted_[i].source, posted_[i].tag, m) || posted_[i].mode == Mode::inert) continue;
      if (posted_[i].mode == Mode::held) {
        for (Receive& r : posted_) {
          bool behind = &r > &posted_[i];
          if (behind && r.mode == Mode::free && takes(r.source, r.tag, m)) r.mode = Mode::held;
        }
        break;
      }
      int id = posted_[i].id;
      posted_.erase(posted_.begin() + static_cast<std::ptrdiff_t>(i));
      return id;
    }
    messages_.push_back(m);
    return 0;
  }
  int peek(Rank source, MessageTag tag) {
    for (const Message& m : messages_) {
      if (takes(source, tag, m)) return waits(m) ? 0 : m.id;
    }
    return 0;
  }
  int erase_message(int id) {
    std::erase_if(messages_, [id](const Message& m) { return m.id == id; });
    return id;
  }
  void withdraw(int id) {
    std::erase_if(posted_, [id](const Receive& r) { return r.id == id; });
  }
  std::vector<std::pair<int, int>> release() {
    std::vector<std::pair<int, int>> matches;
    for (Receive& r : posted_) {
      if (r.mode == Mode::held) r.mode = Mode::free;
    }
    std::vector<Receive> left;
    for (const Receive& r : posted_) {
      int m = r.mode == Mode::free ? peek(r.source, r.tag) : 0;
      if (m) matches.emplace_back(r.id, erase_message(m));
      else left.push_back(r);
    }
    posted_ = left;
    return matches;
  }
  bool has_held() const { return std::any_of(posted_.begin(), posted_.end(), is_held); }
  std::vector<int> posted_ids() const {
    std::vector<int> ids;
    for (const Receive& r : posted_) ids.push_back(r.id);
    return ids;
  }
  std::vector<int> message_ids() const {
    std::vector<int> ids;
    for (const Message& m : messages_) ids.push_back(m.id);
    return ids;
  }

 private:
  static bool is_held(const Receive& r) { return r.mode == Mode::held; }
  static bool takes(Rank source, MessageTag tag, const Message& m) {
    return (source == any_rank || source == m.source) && (tag == any_tag || tag == m.tag);
  }
  bool waits(const Message& m) const {
    return std::any_of(posted_.begin(), posted_.end(), [&](const Receive& r) { return is_held(r) && takes(r.source, r.tag, m); });
  }
  std::vector<Receive> posted_;
  std::vector<Message> messages_;
};

class Pair {
 public:
  explicit Pair(std::uint64_t seed, bool replays) : draw_(seed), replays_(replays) {}

  void step() {
    switch (draw_() % 10) {
      case 0: case 1: case 2: return post();
      case 3: case 4: case 5: case 6: return arrive();
      case 7: return look();
      case 8: return withdraw();
      default: if (draw_() % 8 == 0) release();
    }
  }
  void compare() {
    std::vector<int> posted, messages;
    for (Posted* p = matcher_.posted().first(); p; p = matcher_.posted().after(*p)) posted.push_back(static_cast<Receive*>(p)->id);
    for (Arrived* m = matcher_.unexpected().first(); m; m = matcher_.unexpected().after(*m)) {
      messages.push_back(static_cast<Message*>(m)->id);
    }
    ASSERT_EQ(posted, model_.posted_ids());
    ASSERT_EQ(messages, model_.message_ids());
    ASSERT_EQ(matcher_.has_held(), model_.has_held());
    ASSERT_EQ(matcher_.idle(), posted.empty() && messages.empty());
  }

 private:
  Rank source() { return draw_() % 3 ? Rank{static_cast<std::int32_t>(draw_() % 3)} : any_rank; }
  MessageTag tag() { return draw_() % 3 ? MessageTag{static_cast<std::int32_t>(draw_() % 3)} : any_tag; }
  static int id_of(Arrived* m) { return m ? static_cast<Message*>(m)->id : 0; }

  void post() {
    auto r = std::make_unique<Receive>();
    r->id = ++next_id_;
    r->source = source();
    r->tag = tag();
    r->any_source = r->source == any_rank;
    if (replays_ && draw_() % 3 == 0) {
      if (draw_() % 3 == 0) r->mode = Mode::inert;
      else if (r->any_source && draw_() % 2) r->mode = Mode::held;
      else if (r->any_source) r->source = Rank{static_cast<std::int32_t>(draw_() % 3)};  // forced
    }
    int expected = model_.post(*r);
    ASSERT_EQ(id_of(matcher_.post(*r)), expected);
    if (!expected) queued_[r->id] = r.get();
    receives_.push_back(std::move(r));
  }
  void arrive() {
    auto m = std::make_unique<Message>();
    m->id = ++next_id_;
    m->source = Rank{static_cast<std::int32_t>(draw_() % 3)};
    m->tag = MessageTag{static_cast<std::int32_t>(draw_() % 3)};
    int expected = model_.arrive(*m);
    Posted* would_take = matcher_.taker(m->source, m->tag);
    Posted* taken = matcher_.arrive(*m);
    EXPECT_EQ(would_take, taken);
    ASSERT_EQ(taken ? static_cast<Receive*>(taken)->id : 0, expected);
    queued_.erase(expected);
    messages_.push_back(std::move(m));
  }
  void look() {
    Rank s = source();
    MessageTag t = tag();
    int expected = model_.peek(s, t);
    Arrived* found = matcher_.peek(s, t);
    ASSERT_EQ(id_of(found), expected);
    if (!found || draw_() % 2) return;
    matcher_.take(*found);
    model_.erase_message(expected);
  }
  void withdraw() {
    if (queued_.empty()) return;
    auto it = std::next(queued_.begin(), static_cast<std::ptrdiff_t>(draw_() % queued_.size()));
    matcher_.withdraw(*it->second);
    model_.withdraw(it->first);
    queued_.erase(it);
  }
  void release() {
    auto expected = model_.release();
    matcher_.release_held();
    for (auto [receive, message] : expected) {
      auto match = matcher_.poll_match();
      ASSERT_TRUE(match);
      ASSERT_EQ(static_cast<Receive*>(match.receive)->id, receive);
      ASSERT_EQ(id_of(match.message), message);
      queued_.erase(receive);
    }
    ASSERT_FALSE(matcher_.poll_match());
  }

  std::mt19937_64 draw_;
  bool replays_;
  Matcher matcher_;
  Model model_;
  int next_id_ = 0;
  std::vector<std::unique_ptr<Receive>> receives_;
  std::vector<std::unique_ptr<Message>> messages_;
  std::map<int, Receive*> queued_;
};

TEST(Matcher, DoesAsTheModelWhenRunningFreely) {
  std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  for (std::uint64_t round = 0; round < 60; ++round) {
    Pair pair(seed + round, false);
    for (int i = 0; i < 300 && !testing::Test::HasFatalFailure(); ++i) pair.step(), pair.compare();
  }
}

TEST(Matcher, DoesAsTheModelWhenReplaying) {
  std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  for (std::uint64_t round = 0; round < 60; ++round) {
    Pair pair(seed + round, true);
    for (int i = 0; i < 300 && !testing::Test::HasFatalFailure(); ++i) pair.step(), pair.compare();
  }
}

Message message(int source, int tag) {
  Message m;
  m.source = Rank{source};
  m.tag = MessageTag{tag};
  return m;
}

// MPI 5.0, 3.5: messages do not overtake one another; the earliest posted receive takes a message.
TEST(Matcher, MessagesOfOneSourceAreTakenInOrder) {
  Matcher matcher;
  Message first = message(1, 5), second = message(1, 5);
  EXPECT_EQ(matcher.arrive(first), nullptr);
  EXPECT_EQ(matcher.arrive(second), nullptr);
  Receive a, b;
  EXPECT_EQ(matcher.post(a), &first);
  EXPECT_EQ(matcher.post(b), &second);
  Receive c, d;
  Message third = message(2, 1);
  EXPECT_EQ(matcher.post(c), nullptr);
  EXPECT_EQ(matcher.post(d), nullptr);
  EXPECT_EQ(matcher.arrive(third), &c);
  matcher.withdraw(d);
  EXPECT_TRUE(matcher.idle());
}

// Design section 6.4: what a held receive could match waits behind it; what it could not match passes.
TEST(Matcher, MessagesWaitBehindAHeldReceiveOnlyIfItCouldTakeThem) {
  Matcher matcher;
  Receive held, named, other;
  held.tag = MessageTag{5};
  held.mode = Mode::held;
  named.source = Rank{1};
  named.tag = MessageTag{6};
  EXPECT_EQ(matcher.post(held), nullptr);
  EXPECT_EQ(matcher.post(named), nullptr);
  Message waits = message(1, 5), passes = message(1, 6);
  EXPECT_EQ(matcher.arrive(waits), nullptr);
  EXPECT_EQ(matcher.peek(any_rank, any_tag), nullptr) << "a probe does not see it either";
  EXPECT_EQ(matcher.arrive(passes), &named);
  other.source = Rank{1};
  other.tag = MessageTag{5};
  EXPECT_EQ(matcher.post(other), nullptr);
  matcher.release_held();
  auto match = matcher.poll_match();
  EXPECT_EQ(match.receive, &held);
  EXPECT_EQ(match.message, &waits);
  EXPECT_FALSE(matcher.poll_match());
  matcher.withdraw(other);
}

// MPI 5.0, 3.5: no message overtakes one that waits behind a held receive, neither into a receive that was posted before it
// came, nor into one that is posted afterwards, nor into a probe.
TEST(Matcher, NoMessageOvertakesOneThatWaits) {
  for (bool posted_before : {true, false}) {
    Matcher matcher;
    Receive held, named;
    held.tag = MessageTag{5};
    held.mode = Mode::held;
    named.source = Rank{1};
    Message earlier_elsewhere = message(2, 5), waits = message(1, 5), later = message(1, 6);
    EXPECT_EQ(matcher.post(held), nullptr);
    EXPECT_EQ(matcher.arrive(earlier_elsewhere), nullptr);
    if (posted_before) {
      EXPECT_EQ(matcher.post(named), nullptr);
    }
    EXPECT_EQ(matcher.arrive(waits), nullptr);
    EXPECT_EQ(matcher.arrive(later), nullptr);
    EXPECT_EQ(matcher.peek(Rank{1}, any_tag), nullptr);
    if (!posted_before) {
      EXPECT_EQ(matcher.post(named), nullptr);
    }
    matcher.release_held();
    auto first = matcher.poll_match(), second = matcher.poll_match();
    EXPECT_EQ(first.receive, &held);
    EXPECT_EQ(first.message, &earlier_elsewhere);
    EXPECT_EQ(second.receive, &named);
    EXPECT_EQ(second.message, &waits);
    matcher.take(later);
    EXPECT_TRUE(matcher.idle());
  }
}

// Design section 6.4: a receive whose Cancel succeeded never matches, and nothing waits for it.
TEST(Matcher, AnInertReceiveNeverMatchesAndHoldsNothingBack) {
  Matcher matcher;
  Receive inert, next;
  inert.mode = Mode::inert;
  Message first = message(1, 5), second = message(1, 5);
  EXPECT_EQ(matcher.arrive(first), nullptr);
  EXPECT_EQ(matcher.post(inert), nullptr);
  EXPECT_EQ(matcher.post(next), &first);
  EXPECT_EQ(matcher.arrive(second), nullptr);
  matcher.release_held();
  EXPECT_FALSE(matcher.poll_match());
  matcher.withdraw(inert);
  matcher.take(second);
  EXPECT_TRUE(matcher.idle());
}

TEST(Matcher, AWithdrawnHeldReceiveLetsMessagesPass) {
  Matcher matcher;
  Receive held;
  held.mode = Mode::held;
  Message m = message(0, 0);
  matcher.post(held);
  matcher.arrive(m);
  EXPECT_EQ(matcher.peek(any_rank, any_tag), nullptr);
  matcher.withdraw(held);
  EXPECT_FALSE(matcher.has_held());
  EXPECT_EQ(matcher.peek(any_rank, any_tag), &m);
}

}  // namespace
}  // namespace hf::core::match
