// Stories of agents and holders as text: each file in testdata/ is one, see testdata/README.md for the commands.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/test_transcript.hpp"
#include "core/event_logger/found.hpp"
#include "core/event_logger/sender.hpp"
#include "core/event_logger/store.hpp"

namespace hf::core::event_logger {
namespace {

// The bytes of a stream are a function of their position and of the term that wrote them, so that a wrong one is seen.
std::byte byte_at(Term term, std::uint64_t position) { return static_cast<std::byte>(position * 7 + term.value * 31); }

class Story {
 public:
  std::string command(const std::string& line) {
    std::istringstream in(line);
    std::vector<std::string> w;
    for (std::string word; in >> word;) w.push_back(word);
    out_.str("");
    if (w[0] == "host") host(w);
    else if (w[0] == "write") write(w);
    else if (w[0] == "failed") failed_tests(w);
    else if (w[0] == "holder") holder(w);
    else if (w[0] == "alone") agent(w[1]).sender.on_no_holder(), tell(w[1]);
    else if (w[0] == "send") send(w[1], false);
    else if (w[0] == "exchange") exchange(w[1]);
    else if (w[0] == "open") open(w);
    else if (w[0] == "adopt") adopt(w);
    else if (w[0] == "carry") carry(w);
    else if (w[0] == "leave") leave(w[1]);
    else if (w[0] == "die") agents_.erase(w[1]);
    else ADD_FAILURE() << "unknown command: " << line;
    return out_.str();
  }

 private:
  struct Agent {
    Sender sender{64};
    Store store{256};
    std::string holder;
    std::map<Rank, std::vector<std::byte>> written;
    std::map<Rank, Term> terms;
    std::map<Rank, TestClock> failed;
    std::map<Rank, Sender::Extent> told;
    std::map<Rank, Sender::Extent> carried;
    // What ranks of this agent were given with messages.
    struct Piece {
      Rank rank{};
      Term term{};
      std::uint64_t position = 0;
      TestClock failed{};
      std::vector<std::byte> bytes;
    };
    std::vector<Piece> taken;
  };
  Agent& agent(const std::string& name) { return agents_[name]; }
  static Rank rank_of(const std::string& text) { return Rank{std::stoi(text)}; }

  // host A 1 term 0 [promised 16]: with the bytes of the last `open`, if there was one.
  void host(const std::vector<std::string>& w) {
    Agent& a = agent(w[1]);
    Rank rank = rank_of(w[2]);
    std::uint64_t promised = w.size() > 6 ? std::stoull(w[6]) : 0;
    a.terms[rank] = Term{static_cast<std::uint32_t>(std::stoul(w[4]))};
    a.sender.add(rank, a.terms[rank], {promised, opened_failed_});
    a.written[rank] = std::exchange(opened_, {});
    a.told[rank] = {promised, opened_failed_};
    a.failed[rank] = std::exchange(opened_failed_, {});
    publish(a, rank);
  }
  void write(const std::vector<std::string>& w) {
    Agent& a = agent(w[1]);
    Rank rank = rank_of(w[2]);
    auto& bytes = a.written[rank];
    for (int i = std::stoi(w[3]); i > 0; --i) bytes.push_back(byte_at(a.terms[rank], bytes.size()));
    publish(a, rank);
    tell(w[1]);
  }
  void failed_tests(const std::vector<std::string>& w) {
    Agent& a = agent(w[1]);
    a.failed[rank_of(w[2])] = TestClock{std::stoull(w[5])};
    publish(a, rank_of(w[2]));
    tell(w[1]);
  }
  void publish(Agent& a, Rank rank) { a.sender.on_published(rank, {a.written[rank].size(), a.failed[rank]}); }
  void holder(const std::vector<std::string>& w) {
    Agent& a = agent(w[1]);
    a.holder = w[2];
    agent(w[2]);
    a.sender.on_connected(Generation{static_cast<std::uint32_t>(std::stoul(w[4]))});
  }
  // carry A 1 to B: what is written and not known to be stable goes to a rank of B.
  void carry(const std::vector<std::string>& w) {
    Agent& a = agent(w[1]);
    Rank rank = rank_of(w[2]);
    const std::uint64_t begin = a.told[rank].end, end = a.written[rank].size();
    a.carried[rank] = {end, a.failed[rank]};
    Bytes bytes = Bytes(a.written[rank]).subspan(begin);
    agent(w[4]).taken.push_back({rank, a.terms[rank], begin, a.failed[rank], {bytes.begin(), bytes.end()}});
    out_ << "[" << begin << ", " << end << ")" << failed_to(a.failed[rank]) << "\n";
  }
  void leave(const std::string& name) {
    Agent& a = agent(name);
    a.sender.on_disconnected();
    for (const auto& [rank, extent] : a.carried) a.sender.on_carried(rank, extent);
  }
  bool send(const std::string& name, bool answer) {
    Agent& a = agent(name);
    Sender::Append append;
    bool any = false;
    while (a.sender.poll_append(append)) {
      any = true;
      out_ << name << " -> " << a.holder << ": rank " << append.rank.value << " term " << append.term.value << " [" << append.position << ", "
           << append.end << ") promised " << append.promised.end << failed_to(append.last_failed) << "\n";
      if (!agents_.contains(a.holder)) continue;
      Bytes bytes = Bytes(a.written[append.rank]).subspan(append.position, append.end - append.position);
      Store& store = agent(a.holder).store;
      auto verdict =
          store.on_append(append.rank, append.term, append.generation, append.position, append.promised, append.last_failed, bytes);
      static const char* words[] = {"taken", "outdated", "refused", "gap", "full"};
      out_ << a.holder << ": " << words[static_cast<int>(verdict)] << ", has " << store.end(append.rank) << "\n";
      if (answer && verdict == Store::Verdict::taken && 
          !a.sender.on_stable(append.rank, append.term, {store.end(append.rank), store.last_failed(append.rank)})) {
        out_ << name << ": an answer that cannot be\n";
      }
    }
    tell(name);
    return any;
  }
  void exchange(const std::string& name) {
    while (send(name, true)) {
    }
  }
  void open(const std::vector<std::string>& w) {
    Rank rank = rank_of(w[2]);
    Term term{static_cast<std::uint32_t>(std::stoul(w[4]))};
    Agent& holder = agent(w[1]);
    for (const Agent::Piece& piece : holder.taken) {
      if (piece.rank == rank) holder.store.on_carried(rank, piece.term, piece.position, piece.failed, piece.bytes);
    }
    Store::Content content = holder.store.on_open(rank, term);
    opened_.assign(content.bytes.begin(), content.bytes.end());
    opened_failed_ = content.last_failed;
    if (content.refused) out_ << "refused\n";
    else if (!content.known) out_ << "unknown\n";
    else out_ << content.bytes.size() << " bytes, promised " << content.promised.end << failed_to(content.last_failed)
              << (content.promised.end > content.bytes.size() ? ": lost" : "") << "\n";
  }
  // adopt 1 term 1 from B C, whole 3: of all that these have, of hostings that were settled.
  void adopt(const std::vector<std::string>& w) {
    Found best;
    const Term term{static_cast<std::uint32_t>(std::stoul(w[3]))};
    const auto whole = std::ranges::find(w, "whole");
    for (auto place = w.begin() + 5; place != whole; ++place) {
      const Store::Content content = agent(*place).store.on_open(rank_of(w[1]), term);
      take(best, {content.known,
                  content.term,
                  content.generation,
                  content.promised,
                  content.last_failed,
                  {content.bytes.begin(), content.bytes.end()}}, term);
    }
    const Term before{term.value - 1};
    Told told{before, term, whole != w.end(), {}};
    for (auto present = whole; present != w.end() && ++present != w.end();) told.present.insert(Generation{static_cast<std::uint32_t>(std::stoul(*present))});
    out_ << best.bytes.size() << " bytes, promised " << best.promised.end << ", of term " << best.term.value << ", generation "
         << best.generation.value << (suffices(best, told) ? "" : ": lost") << "\n";
  }
  void tell(const std::string& name) {
    Agent& a = agent(name);
    for (auto& [rank, told] : a.told) {
      if (told.covers(a.sender.stable(rank))) continue;
      told = a.sender.stable(rank);
      out_ << name << ": rank " << rank.value << " is stable to " << told.end << failed_to(told.last_failed) << "\n";
    }
    Generation held;
    if (a.sender.poll_held(held)) out_ << name << ": held, generation " << held.value << "\n";
  }
  static std::string failed_to(TestClock clock) { return clock.value ? ", failed tests to " + std::to_string(clock.value) : ""; }
  std::ostringstream out_;
  std::map<std::string, Agent> agents_;
  std::vector<std::byte> opened_;
  TestClock opened_failed_{};
};

TEST(EventLogger, Transcripts) {
  const std::vector<std::string> stories = transcripts_in(HOLDFAST_TEST_DATA);
  for (const std::string& name : stories) {
    Story story;
    const std::string path = HOLDFAST_TEST_DATA "/" + name + ".txt";
    for (const std::string& failure : run_transcript(path, [&](const std::string& line) { return story.command(line); })) {
      ADD_FAILURE() << failure;
    }
  }
  EXPECT_GE(stories.size(), 6u);
}

TEST(EventLogger, WhatWasCarriedMustTouchWhatIsHere) {
  Store store(64);
  std::vector<std::byte> bytes(16, std::byte{1});
  store.on_carried(Rank{0}, Term{0}, 0, {}, bytes);
  EXPECT_EQ(store.end(Rank{0}), 0u) << "nobody appended here";
  EXPECT_EQ(store.on_append(Rank{0}, Term{1}, Generation{1}, 0, {}, {}, bytes), Store::Verdict::taken);
  store.on_carried(Rank{0}, Term{0}, 16, {}, bytes);
  EXPECT_EQ(store.end(Rank{0}), 16u) << "of an older hosting";
  store.on_carried(Rank{0}, Term{1}, 24, {}, bytes);
  EXPECT_EQ(store.end(Rank{0}), 16u) << "a gap";
  store.on_carried(Rank{0}, Term{1}, 8, TestClock{5}, bytes);
  EXPECT_EQ(store.end(Rank{0}), 24u);
  EXPECT_EQ(store.last_failed(Rank{0}), TestClock{5});
  EXPECT_EQ(store.bytes(), 24u);
  store.on_open(Rank{0}, Term{2});
  store.on_carried(Rank{0}, Term{1}, 24, {}, bytes);
  EXPECT_EQ(store.end(Rank{0}), 24u) << "fenced";
}

TEST(EventLogger, WhatWasCarriedAndFindsNoRoomIsKnownToBeMissing) {
  Store store(24);
  std::vector<std::byte> bytes(16);
  EXPECT_EQ(store.on_append(Rank{0}, Term{0}, Generation{1}, 0, {}, {}, bytes), Store::Verdict::taken);
  store.on_carried(Rank{0}, Term{0}, 16, {}, bytes);
  Store::Content content = store.on_open(Rank{0}, Term{1});
  EXPECT_EQ(content.promised.end, 32u);
  EXPECT_EQ(content.bytes.size(), 16u);
}

TEST(EventLogger, BytesOfAnOlderTermThatNobodyWasToldAboutAreNoBeginning) {
  Store store(1024);
  std::vector<std::byte> old(32, std::byte{1}), now(16, std::byte{2});
  EXPECT_EQ(store.on_append(Rank{0}, Term{0}, Generation{1}, 0, {}, {}, old), Store::Verdict::taken);
  EXPECT_EQ(store.on_append(Rank{0}, Term{1}, Generation{1}, 0, {}, {}, now), Store::Verdict::taken);
  Store::Content content = store.on_open(Rank{0}, Term{2});
  ASSERT_EQ(content.bytes.size(), 16u);
  EXPECT_EQ(content.bytes[0], std::byte{2});
}

// An old connection may be read after a newer one.
TEST(EventLogger, WhatAnEarlierGenerationSentCutsNothingOff) {
  Store store(1024);
  std::vector<std::byte> bytes(16, std::byte{1});
  auto append = [&](std::uint32_t term, std::uint32_t generation, std::uint64_t position) {
    return store.on_append(Rank{0}, Term{term}, Generation{generation}, position, {}, {}, bytes);
  };
  EXPECT_EQ(append(0, 3, 0), Store::Verdict::taken);
  EXPECT_EQ(append(0, 3, 16), Store::Verdict::taken);
  EXPECT_EQ(append(0, 1, 0), Store::Verdict::outdated);
  EXPECT_EQ(store.end(Rank{0}), 32u);
  EXPECT_EQ(store.on_open(Rank{0}, Term{1}).generation, Generation{3});
  // Another agent counts its own holders.
  EXPECT_EQ(append(1, 2, 32), Store::Verdict::taken);
  store.on_cut(Rank{0}, Term{2}, 48);
  const Store::Content cut = store.on_open(Rank{0}, Term{2});
  EXPECT_TRUE(cut.term == Term{1} && cut.generation == Generation{2}) << "nobody has appended under the new term";
  EXPECT_EQ(append(2, 1, 48), Store::Verdict::taken);
  EXPECT_EQ(store.on_open(Rank{0}, Term{2}).generation, Generation{1});
}

TEST(EventLogger, WhatIsForgottenStaysFencedAndIsUnknown) {
  Store store(1024);
  std::vector<std::byte> bytes(16, std::byte{1});
  store.on_open(Rank{0}, Term{1});
  store.forget(Rank{0}, Term{1});
  // A node that was silent for long does not know that its rank is elsewhere.
  EXPECT_EQ(store.on_append(Rank{0}, Term{0}, Generation{1}, 0, {}, {}, bytes), Store::Verdict::refused);
  EXPECT_FALSE(store.on_open(Rank{0}, Term{2}).known);
  EXPECT_EQ(store.on_append(Rank{0}, Term{2}, Generation{1}, 0, {}, {}, bytes), Store::Verdict::taken);
}

// Under optimist (docs/optimist.md, Cuts).
TEST(EventLogger, ACutStreamGoesOnUnderItsNewTerm) {
  Store store(1024);
  std::vector<std::byte> old(48, std::byte{1}), now(16, std::byte{2});
  EXPECT_EQ(store.on_append(Rank{0}, Term{0}, Generation{1}, 0, {48, {}}, {}, old), Store::Verdict::taken);
  store.on_cut(Rank{0}, Term{1}, 32);
  EXPECT_EQ(store.end(Rank{0}), 32u);
  EXPECT_EQ(store.bytes(), 32u);
  EXPECT_EQ(store.on_append(Rank{0}, Term{0}, Generation{1}, 32, {}, {}, now), Store::Verdict::refused) << "of the orphan";
  EXPECT_EQ(store.on_append(Rank{0}, Term{1}, Generation{1}, 0, {}, {}, {}), Store::Verdict::taken);
  EXPECT_EQ(store.end(Rank{0}), 32u) << "what was kept is not asked for again";
  store.on_cut(Rank{0}, Term{1}, 0);
  EXPECT_EQ(store.end(Rank{0}), 32u) << "a cut of its own term says nothing of it";
  EXPECT_EQ(store.on_append(Rank{0}, Term{1}, Generation{1}, 32, {32, {}}, {}, now), Store::Verdict::taken);
  Store::Content content = store.on_open(Rank{0}, Term{2});
  EXPECT_EQ(content.bytes.size(), 48u);
  EXPECT_EQ(content.promised.end, 32u) << "nobody misses what was cut";
  EXPECT_EQ(content.term, Term{1});
  store.on_cut(Rank{0}, Term{1}, 0);
  EXPECT_EQ(store.end(Rank{0}), 48u) << "fenced";
  store.on_cut(Rank{1}, Term{1}, 16);
  EXPECT_EQ(store.end(Rank{1}), 0u);
}

TEST(EventLogger, ARankThatIsRolledBackAsksAgainWhatIsHeld) {
  Sender sender(64);
  Store store(1024);
  std::vector<std::byte> stream(96);
  auto exchange = [&](std::uint64_t kept) {
    for (Sender::Append a; sender.poll_append(a);) {
      store.on_cut(a.rank, a.term, kept);
      const Bytes bytes = Bytes(stream).subspan(a.position, a.end - a.position);
      ASSERT_EQ(store.on_append(a.rank, a.term, a.generation, a.position, a.promised, a.last_failed, bytes), Store::Verdict::taken);
      ASSERT_TRUE(sender.on_stable(a.rank, a.term, {store.end(a.rank), {}}));
    }
  };
  sender.add(Rank{0}, Term{0}, {});
  sender.on_connected(Generation{1});
  sender.on_published(Rank{0}, {64, {}});
  exchange(0);
  EXPECT_EQ(sender.stable(Rank{0}).end, 64u);
  sender.on_published(Rank{0}, {80, {}});
  Sender::Append on_its_way;
  ASSERT_TRUE(sender.poll_append(on_its_way));
  sender.roll_back(Rank{0}, Term{1}, 48);
  EXPECT_EQ(sender.stable(Rank{0}).end, 48u) << "of the rest it is not told any more";
  EXPECT_TRUE(sender.on_stable(Rank{0}, Term{0}, {80, {}})) << "the answer to what was on its way";
  EXPECT_EQ(sender.stable(Rank{0}).end, 48u);
  sender.on_published(Rank{0}, {96, {}});
  exchange(48);
  EXPECT_EQ(sender.stable(Rank{0}).end, 96u);
  EXPECT_EQ(store.end(Rank{0}), 96u);
  Generation held;
  EXPECT_TRUE(sender.poll_held(held));
}

TEST(EventLogger, TheBoundIsOfAllStreamsTogether) {
  Store store(32);
  std::vector<std::byte> bytes(24);
  EXPECT_EQ(store.on_append(Rank{0}, Term{0}, Generation{1}, 0, {}, {}, bytes), Store::Verdict::taken);
  EXPECT_EQ(store.on_append(Rank{1}, Term{0}, Generation{1}, 0, {}, {}, bytes), Store::Verdict::full);
  EXPECT_EQ(store.end(Rank{1}), 0u);
  store.forget(Rank{0}, Term{0});
  EXPECT_EQ(store.end(Rank{0}), 24u);
  store.forget(Rank{0}, Term{1});
  EXPECT_EQ(store.on_append(Rank{1}, Term{0}, Generation{1}, 0, {}, {}, bytes), Store::Verdict::taken);
  EXPECT_EQ(store.bytes(), 24u);
}

}  // namespace
}  // namespace hf::core::event_logger
