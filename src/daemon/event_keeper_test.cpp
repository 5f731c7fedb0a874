// Levels `node` and `disk` together: an agent, its file and its holder, in one loop.
#include "daemon/event_keeper.hpp"

#include <gtest/gtest.h>
#include <sodium.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "os/clock.hpp"

namespace hf::daemon {
namespace {

using Found = core::event_logger::Found;
constexpr std::uint64_t key = 0xabc;
constexpr Rank rank{1};

struct Owner : EventKeeper::Owner {
  using Extent = EventKeeper::Extent;
  Extent written(Rank) override {
    const Extent now{events.size(), last_failed};
    events.resize(events.size() + std::exchange(writes_behind, 0));
    return now;
  }
  bool read_events(Rank, std::uint64_t position, MutableBytes out) override {
    std::ranges::copy(Bytes(events).subspan(position, out.size()), out.begin());
    return true;
  }
  void on_stable(Rank, const Extent& extent) override { stable = extent.end; }
  void on_held(Generation) override { held = true; }
  void on_holder_lost(Generation, bool, const std::string&) override {}
  void on_fenced(Rank) override { fenced = true; }
  void on_damaged(Rank) override { ADD_FAILURE(); }
  void on_disk_failed(const std::string& why) override { ADD_FAILURE() << why; }
  int first_host(Rank) override { return 0; }
  void on_carriable(int agent) override { carriable = carriable || agent >= 0; }
  Extent carried(Rank) override { return {}; }
  std::vector<segment::CarriedEvents::Piece> fence(Rank, Term, Term) override { return {}; }
  bool on_known(Rank of, Term, std::uint64_t) override { return of.value < 1000; }
  void on_news() override { ++news; }
  void trim(Rank, Found&) override {}
  const core::vprotocol::Cuts& cuts(Rank) override { return told_cuts; }
  void on_busy() override {}
  void on_looked_at(Rank, bool on) override {
    looked_at = on;
    if (!on) events.resize(events.size() + std::exchange(writes_meanwhile, 0));
  }
  core::vprotocol::Cuts told_cuts;
  std::vector<std::byte> events;
  TestClock last_failed{};
  std::uint64_t stable = 0;
  int news = 0;
  std::size_t writes_meanwhile = 0;  // before the rank sees that it is looked at no more
  std::size_t writes_behind = 0;     // just after it was looked at, which the rank does not know
  bool held = false, fenced = false, carriable = false, looked_at = false;
};

class EventKeeperTest : public testing::Test {
 protected:
  struct Agent {
    Owner owner;
    std::unique_ptr<EventKeeper> keeper;
    std::unique_ptr<ControlDoor> door;
    int visits = 0;  // by others
  };
  void SetUp() override {
    ASSERT_GE(::sodium_init(), 0);
    base_ = testing::TempDir() + "keeper-XXXXXX";
    ASSERT_NE(::mkdtemp(base_.data()), nullptr);
    ASSERT_TRUE(EventDirectory::make(base_ + "/job", key, 4));
    for (int number = 0; number < 4; ++number) make(number);
  }
  bool optimist_ = false;  // and at level `node` only
  void TearDown() override {
    for (Agent& agent : agents_) agent.keeper.reset();
    std::filesystem::remove_all(base_);
  }
  void make(int number) {
    Agent& agent = agents_[number];
    EventKeeper::Owner& owner = agent.owner;
    agent.keeper = std::make_unique<EventKeeper>(loop_, job_key_, NodeId(number), EventKeeper::Settings{.bytes_max = 1 << 20, .optimist = optimist_}, owner);
    if (!optimist_) keep_on_disk(number);
    agent.door = std::make_unique<ControlDoor>(
        loop_, job_key_,
        [&agent](const Visitor& visitor, ChannelPtr channel) {
          ++agent.visits;
          agent.keeper->on_guest(visitor.node.value, std::move(channel));
        },
        [] { FAIL(); });
    ASSERT_TRUE(agent.door->open(os::loopback_address()));
  }
  void keep_on_disk(int number) {
    auto directory = EventDirectory::open(base_ + "/job", key, 4);
    ASSERT_TRUE(directory);
    agents_[number].keeper->keep_on_disk({*directory, {key, static_cast<std::uint32_t>(number)}, std::move(*directory->make_file(number))}, true);
  }
  template <class Done>
  bool wait(Done done, std::int64_t for_ms = 10'000) {
    const Instant limit = os::later(os::now(), for_ms * os::millisecond_ns);
    while (!done() && os::now() < limit) {
      loop_.at(os::later(os::now(), os::millisecond_ns), [this] { loop_.stop(); });
      loop_.run();
    }
    return done();
  }
  // Agent 0 hosts the rank, agent 1 is its holder.
  void host() {
    for (int from : {0, 2}) agents_[from].keeper->set_address(1, {os::loopback_address(), agents_[1].door->port()});
    agents_[0].keeper->add_rank(rank, Term{0}, {});
    agents_[0].keeper->set_holder(0, 1, Generation{1}, -1);
    ASSERT_TRUE(wait([&] { return agents_[0].owner.held; }));
    agents_[0].keeper->on_settled(rank);
  }
  void write(std::size_t count, bool says) {
    agents_[0].owner.events.resize(agents_[0].owner.events.size() + count, std::byte{1});
    if (says) agents_[0].keeper->look(rank);
  }
  void begin_fetch(const std::vector<int>& places, Term term = Term{1}) {
    fetched_.reset();
    agents_[2].keeper->fetch({{rank, term, term}}, places, [this](EventKeeper::Fetched fetched) { fetched_ = std::move(fetched); });
  }
  EventKeeper::Fetched fetch(const std::vector<int>& places, Term term = Term{1}) {
    begin_fetch(places, term);
    EXPECT_TRUE(wait([this] { return fetched_.has_value(); }));
    return fetched_.value_or(EventKeeper::Fetched{});
  }
  os::EventLoop loop_;
  const JobKey job_key_{};
  std::string base_;
  Agent agents_[4];
  std::optional<EventKeeper::Fetched> fetched_;
};

TEST_F(EventKeeperTest, StableIsWhatBothHave) {
  host();
  agents_[0].keeper->files()->stand_still(200 * os::millisecond_ns);
  write(48, true);
  EXPECT_FALSE(wait([&] { return agents_[0].owner.stable > 0; }, 100)) << "the disk does not have it";
  EXPECT_TRUE(wait([&] { return agents_[0].owner.stable == 48; }));
  EXPECT_FALSE(agents_[0].owner.carriable) << "what goes with a message is in no file";
}

// The rank says nothing while it sees something on its way: whoever answers last must find it, for both.
TEST_F(EventKeeperTest, WhatIsWrittenMeanwhileGetsToBoth) {
  host();
  agents_[0].keeper->files()->stand_still(100 * os::millisecond_ns);
  write(48, true);
  EXPECT_FALSE(wait([&] { return agents_[0].owner.stable > 0; }, 50)) << "the holder has answered";
  write(16, false);
  EXPECT_TRUE(wait([&] { return agents_[0].owner.stable == 64; }, 2000)) << agents_[0].owner.stable;
}

// The file that it was found in is of a disk that may be gone with this node: its own file and its holder must both have it.
TEST_F(EventKeeperTest, WhatWasFoundIsStableWhenBothHaveIt) {
  agents_[0].owner.events.resize(48, std::byte{1});
  agents_[0].keeper->files()->stand_still(200 * os::millisecond_ns);
  for (int from : {0, 2}) agents_[from].keeper->set_address(1, {os::loopback_address(), agents_[1].door->port()});
  agents_[0].keeper->add_rank(rank, Term{1}, {48, {}});
  EXPECT_EQ(agents_[0].owner.stable, 0u);
  agents_[0].keeper->set_holder(0, 1, Generation{1}, -1);
  ASSERT_TRUE(wait([&] { return agents_[0].owner.held; }));
  agents_[0].keeper->on_settled(rank);
  EXPECT_FALSE(wait([&] { return agents_[0].owner.stable > 0; }, 100)) << "the disk does not have it";
  EXPECT_TRUE(wait([&] { return agents_[0].owner.stable == 48; }));
}

TEST_F(EventKeeperTest, NothingIsStableBeforeTheHeadHasHeardThatAllIsHeld) {
  agents_[0].owner.events.resize(48, std::byte{1});
  agents_[0].keeper->set_address(1, {os::loopback_address(), agents_[1].door->port()});
  agents_[0].keeper->add_rank(rank, Term{1}, {48, {}});
  agents_[0].keeper->set_holder(0, 1, Generation{1}, -1);
  ASSERT_TRUE(wait([&] { return agents_[0].owner.held; }));
  EXPECT_FALSE(wait([&] { return agents_[0].owner.stable > 0; }, 100));
  agents_[0].keeper->on_settled(rank);
  EXPECT_TRUE(wait([&] { return agents_[0].owner.stable == 48; }));
}

TEST_F(EventKeeperTest, OneLevelIsEnoughToGoOn) {
  host();
  write(48, true);
  ASSERT_TRUE(wait([&] { return agents_[0].owner.stable == 48; }));
  EventKeeper::Fetched both = fetch({1});
  EXPECT_EQ(both.found[rank].bytes.size(), 48u);
  EXPECT_TRUE(both.files_read);
  agents_[1].door.reset();  // its holder is lost
  agents_[1].keeper.reset();
  EventKeeper::Fetched files = fetch({1});
  EXPECT_EQ(files.failure, "");
  EXPECT_EQ(files.found[rank].bytes.size(), 48u);
}

TEST_F(EventKeeperTest, TheHolderIsEnoughWithoutTheFile) {
  host();
  write(48, true);
  ASSERT_TRUE(wait([&] { return agents_[0].owner.stable == 48; }));
  std::filesystem::remove(base_ + "/job/node-0");
  EventKeeper::Fetched fetched = fetch({1});
  EXPECT_EQ(fetched.failure, "");
  EXPECT_NE(fetched.warning, "");
  EXPECT_FALSE(fetched.files_read);
  EXPECT_EQ(fetched.found[rank].bytes.size(), 48u);
}

// Its machine stands still, and its connections stay open. The tree of agents finds it dead.
TEST_F(EventKeeperTest, NothingIsAwaitedOfAPlaceThatIsLost) {
  host();
  write(48, true);
  ASSERT_TRUE(wait([&] { return agents_[0].owner.stable == 48; }));
  std::vector<ChannelPtr> guests;
  ControlDoor silent(loop_, job_key_, [&](const Visitor&, ChannelPtr channel) { guests.push_back(std::move(channel)); }, [] { FAIL(); });
  ASSERT_TRUE(silent.open(os::loopback_address()));
  agents_[2].keeper->set_address(7, {os::loopback_address(), silent.port()});
  begin_fetch({1, 7});
  EXPECT_FALSE(wait([&] { return fetched_.has_value(); }, 100));
  ASSERT_EQ(guests.size(), 1u) << "it is asked";
  agents_[2].keeper->lose_place(7);
  ASSERT_TRUE(wait([&] { return fetched_.has_value(); }, 1000));
  EXPECT_EQ(fetched_->failure, "");
  EXPECT_FALSE(fetched_->all_places);
  EXPECT_EQ(fetched_->found[rank].bytes.size(), 48u);
  // It wakes up.
  guests[0]->send(ControlKind::events_content, EventsContent{.rank = rank.value, .term = 1});
  begin_fetch({7, 1}, Term{2});
  ASSERT_TRUE(wait([&] { return fetched_.has_value(); }, 1000)) << "its loss came before the question";
  EXPECT_FALSE(fetched_->all_places);
}

class OptimistKeeperTest : public EventKeeperTest {
 protected:
  OptimistKeeperTest() { optimist_ = true; }
  bool is_stable(std::uint64_t end, std::int64_t for_ms) {
    return wait([&] { return agents_[0].owner.stable == end; }, for_ms);
  }
};

TEST_F(OptimistKeeperTest, LooksUnaskedAsLongAsItFindsSomething) {
  host();
  EXPECT_FALSE(agents_[0].owner.looked_at);
  write(16, true);
  EXPECT_TRUE(agents_[0].owner.looked_at);
  ASSERT_TRUE(is_stable(16, 10'000));
  for (std::uint64_t end = 32; end <= 80; end += 16) {
    write(16, false);
    EXPECT_TRUE(is_stable(end, 10'000)) << "at " << end;
  }
  EXPECT_TRUE(wait([&] { return !agents_[0].owner.looked_at; }));
  write(16, false);
  EXPECT_FALSE(is_stable(96, 50)) << "the rank was to say so";
  agents_[0].keeper->look(rank);
  EXPECT_TRUE(is_stable(96, 10'000));
}

TEST_F(OptimistKeeperTest, WhatIsWrittenBetweenTwoLooksIsFound) {
  host();
  for (std::uint64_t round = 1; round <= 20; ++round) {
    agents_[0].owner.writes_behind = 16;
    write(16, true);
    EXPECT_TRUE(is_stable(32 * round, 1000)) << agents_[0].owner.stable;
    const bool ceases = round % 2 == 1;
    EXPECT_TRUE(wait([&] { return !ceases || !agents_[0].owner.looked_at; }));
  }
}

TEST_F(OptimistKeeperTest, WhatIsWrittenBeforeItCeasesToLookIsFound) {
  host();
  agents_[0].owner.writes_meanwhile = 32;
  write(16, true);
  EXPECT_TRUE(is_stable(48, 1000)) << agents_[0].owner.stable;
  EXPECT_TRUE(wait([&] { return !agents_[0].owner.looked_at; }));
}

// Of those who tell agent 1 what is stable, and are told.
class KnownTest : public OptimistKeeperTest {
 protected:
  struct Teller {
    std::vector<std::int32_t> told;  // ranks
    std::unique_ptr<ControlVisit> visit;
  };
  void join(Teller& teller, int number) {
    teller.visit = std::make_unique<ControlVisit>(
        loop_, job_key_, NodeId(number), Purpose::events, Address{os::loopback_address(), agents_[1].door->port()},
        ControlVisit::Handlers{[&teller] { teller.visit->channel().send_bytes(ControlKind::events_known); },
                               [&teller](ControlKind kind, Bytes payload) {
                                 if (kind != ControlKind::events_known) return;
                                 for (EventsKnown known; read_struct(payload, known);) teller.told.push_back(known.rank);
                               },
                               [] {}});
    ASSERT_TRUE(wait([&] { return teller.visit->open(); }));
  }
  static void say(Teller& teller, const std::vector<EventsKnown>& known) {
    teller.visit->channel().send_bytes(ControlKind::events_known, std::as_bytes(std::span(known)));
  }
};

TEST_F(KnownTest, WhatHasChangedIsToldToOthersAndLookedAtOnce) {
  Teller one, other;
  join(one, 5);
  join(other, 6);
  say(one, {{2, 0, 16}, {4, 0, 16}, {3, 0, 32}, {2000, 0, 16}});
  ASSERT_TRUE(wait([&] { return other.told.size() == 3 && one.told.size() == 3; })) << "who is told first is told all";
  EXPECT_EQ(agents_[1].owner.news, 1);
  other.told.clear();
  one.told.clear();
  say(one, {{2, 0, 16}, {4, 0, 8}, {3, 1, 16}});
  ASSERT_TRUE(wait([&] { return !other.told.empty(); }));
  EXPECT_EQ(agents_[1].owner.news, 2);
  say(other, {{7, 0, 16}});
  ASSERT_TRUE(wait([&] { return !one.told.empty(); }));
  say(other, {{7, 0, 16}});
  EXPECT_FALSE(wait([&] { return other.told.size() > 1 || one.told.size() > 1; }, 20));
  EXPECT_EQ(other.told, (std::vector<std::int32_t>{3}));
  EXPECT_EQ(one.told, (std::vector<std::int32_t>{7}));
  EXPECT_EQ(agents_[1].owner.news, 3);
}

// Agent 2 takes the rank over, whose stream was cut to nothing by then, and has the same holder; and is lost as well.
TEST_F(OptimistKeeperTest, WhatWasPromisedBehindACutIsForgotten) {
  host();
  agents_[0].owner.last_failed = TestClock{27};
  write(48, true);
  ASSERT_TRUE(is_stable(48, 10'000));
  write(16, true);
  ASSERT_TRUE(is_stable(64, 10'000));
  EXPECT_EQ(fetch({1}).found[rank].promised.end, 48u);
  const int visits = agents_[1].visits;
  agents_[2].keeper->add_rank(rank, Term{1}, {});
  agents_[2].keeper->set_holder(0, 1, Generation{2}, -1);
  ASSERT_TRUE(wait([&] { return agents_[2].owner.held; }));
  agents_[2].keeper->on_settled(rank);
  agents_[2].owner.events.resize(16, std::byte{2});
  agents_[2].keeper->look(rank);
  EXPECT_TRUE(wait([&] { return agents_[2].owner.stable == 16; }, 1000));
  EXPECT_EQ(agents_[1].visits, visits + 1) << "it answers what was not asked";
  const Found found = fetch({1}, Term{2}).found[rank];
  EXPECT_EQ(found.bytes.size(), 16u);
  EXPECT_LE(found.promised.end, 16u);
  EXPECT_EQ(found.last_failed, TestClock{});
}

// Agent 1 held what the first hosting had. The next one was cut to 48 bytes and has agent 3, is cut to 64, and has agent 1 again.
TEST_F(OptimistKeeperTest, AHolderThatIsChosenAgainHearsOfAllCutsSince) {
  host();
  write(80, true);
  ASSERT_TRUE(is_stable(80, 10'000));
  EXPECT_EQ(fetch({1}).found[rank].bytes.size(), 80u);
  Owner& owner = agents_[2].owner;
  for (int from : {2, 3}) {
    for (int to : {1, 3}) agents_[from].keeper->set_address(to, {os::loopback_address(), agents_[to].door->port()});
  }
  auto grow = [&](std::size_t to) {
    owner.events.resize(to, std::byte{2});
    agents_[2].keeper->look(rank);
    ASSERT_TRUE(wait([&] { return owner.stable == to; }));
  };
  owner.told_cuts.add(Term{1}, 48);
  owner.events.resize(48, std::byte{1});
  agents_[2].keeper->add_rank(rank, Term{1}, {48, {}});
  agents_[2].keeper->set_holder(0, 3, Generation{1}, -1);
  ASSERT_TRUE(wait([&] { return owner.held; }));
  agents_[2].keeper->on_settled(rank);
  grow(96);
  owner.told_cuts.add(Term{2}, 64);
  owner.events.resize(64);
  agents_[2].keeper->roll_back(rank, Term{2}, 64);
  grow(80);
  owner.held = false;
  agents_[2].keeper->set_holder(0, 1, Generation{2}, -1);
  ASSERT_TRUE(wait([&] { return owner.held; }));
  begin_fetch({1}, Term{3});
  ASSERT_TRUE(wait([this] { return fetched_.has_value(); }));
  EXPECT_EQ(fetched_->found[rank].bytes, owner.events);
}

}  // namespace
}  // namespace hf::daemon
