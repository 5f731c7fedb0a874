// Cuts: what they say of an entry, for histories drawn at random too; and where an orphan's stream is cut.
#include "core/vprotocol/cuts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/test_seed.hpp"
#include "core/vprotocol/stable_vector.hpp"
#include "core/vprotocol/test_events.hpp"

namespace hf::core::vprotocol {
namespace {

using Verdict = Cuts::Verdict;
using Added = Cuts::Added;

TEST(Cuts, VerdictOfAnEntry) {
  Cuts cuts;
  EXPECT_EQ(cuts.verdict(Term(0), 16), Verdict::current);
  EXPECT_EQ(cuts.verdict(Term(1), 16), Verdict::unknown);
  EXPECT_EQ(cuts.add(Term(1), 16), Added::yes);
  EXPECT_EQ(cuts.verdict(Term(0), 16), Verdict::kept);
  EXPECT_EQ(cuts.verdict(Term(0), 32), Verdict::lost);
  EXPECT_EQ(cuts.verdict(Term(1), 32), Verdict::current);
  EXPECT_EQ(cuts.add(Term(2), 64), Added::yes);
  EXPECT_EQ(cuts.verdict(Term(0), 32), Verdict::lost) << "another event stands there now";
  EXPECT_EQ(cuts.verdict(Term(1), 32), Verdict::kept);
  EXPECT_EQ(cuts.verdict(Term(1), 80), Verdict::lost);
  EXPECT_EQ(cuts.kept(Term(0)), 16u);
  EXPECT_EQ(cuts.kept(Term(1)), 64u);
  EXPECT_EQ(cuts.kept(Term(2)), UINT64_MAX);
}

TEST(Cuts, OldOnesAreNotTaken) {
  Cuts cuts;
  EXPECT_EQ(cuts.add(Term(0), 16), Added::old);
  EXPECT_EQ(cuts.add(Term(3), 16), Added::yes);
  EXPECT_EQ(cuts.add(Term(3), 8), Added::old);
  EXPECT_EQ(cuts.add(Term(2), 8), Added::old);
  EXPECT_EQ(cuts.verdict(Term(0), 16), Verdict::kept);
}

TEST(Cuts, OnlySoMany) {
  Cuts cuts;
  for (std::uint32_t i = 1; i <= Cuts::kept_max; ++i) ASSERT_EQ(cuts.add(Term(i), 16 * i), Added::yes);
  EXPECT_EQ(cuts.add(Term(100), 1600), Added::full);
  EXPECT_EQ(cuts.newest(), Term(Cuts::kept_max)) << "as before";
  EXPECT_EQ(cuts.add(Term(100), 16 * 16), Added::yes) << "it takes the place of the last";
  EXPECT_EQ(cuts.add(Term(101), 0), Added::yes);
  EXPECT_EQ(cuts.verdict(Term(5), 16), Verdict::lost);
}

TEST(Cuts, Encoding) {
  Cuts cuts;
  cuts.add(Term(1), 16);
  cuts.add(Term(5), 48);
  std::vector<std::byte> out;
  cuts.encode(out);
  EXPECT_EQ(out.size(), 24u);
  EXPECT_EQ(Cuts::decode(out), cuts);
  EXPECT_FALSE(Cuts::decode(Bytes(out).first(23)));
  out[12] = std::byte{1};
  EXPECT_FALSE(Cuts::decode(out)) << "a term twice";
  out[12] = std::byte{2}, out[16] = std::byte{8};
  EXPECT_FALSE(Cuts::decode(out)) << "positions that fall are never kept";
}

// The verdict is that of a list of all cuts.
TEST(Cuts, DrawnAtRandom) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  for (int round = 0; round < 300; ++round) {
    Cuts cuts;
    std::vector<Cuts::Cut> all;
    std::uint32_t term = 0;
    for (int i = 0; i < 14; ++i) {
      const Cuts::Cut cut{Term(term += 1 + draw() % 2), draw() % 10 * 16};
      ASSERT_EQ(cuts.add(cut.term, cut.position), Added::yes);
      all.push_back(cut);
      for (std::uint32_t of = 0; of < term; ++of) {
        for (std::uint64_t at = 0; at < 11 * 16; at += 16) {
          const bool lost = std::ranges::any_of(all, [&](const auto& c) { return c.term > Term(of) && at > c.position; });
          ASSERT_EQ(cuts.verdict(Term(of), at), lost ? Verdict::lost : Verdict::kept);
        }
      }
    }
  }
}

TEST(FirstLost, IsBeforeTheFirstRecordOfADependencyOnSomethingLost) {
  std::vector<std::byte> stream;
  encode(stream, {EventKind::match, 3, 0});
  encode(stream, record_of({Rank(2), Term(0), 16}));
  const std::vector<std::int32_t> indices{1, 2};
  encode(stream, {EventKind::delivery, 2, 4}, indices);
  encode(stream, record_of({Rank(1), Term(0), 48}));
  encode(stream, {EventKind::time, 0, 77});
  encode(stream, record_of({Rank(2), Term(0), 32}));
  CutTable cuts;
  EXPECT_EQ(first_lost(stream, cuts), std::nullopt);
  cuts.add(Rank(2), Term(1), 16);
  EXPECT_EQ(first_lost(stream, cuts), 96u) << "(2, 16) was kept";
  cuts.add(Rank(1), Term(1), 32);
  EXPECT_EQ(first_lost(stream, cuts), 64u);
  EXPECT_EQ(first_lost(Bytes(stream).first(79), cuts), std::nullopt) << "it is not whole";
  cuts.add(Rank(2), Term(2), 0);
  EXPECT_EQ(first_lost(stream, cuts), 16u);
}

TEST(FirstLost, RecordsBeforeItWithoutAnEventBetweenGoToo) {
  std::vector<std::byte> stream;
  encode(stream, {EventKind::time, 0, 77});
  encode(stream, record_of({Rank(2), Term(0), 16}));
  encode(stream, record_of({Rank(1), Term(0), 16}));
  encode(stream, {EventKind::match, 1, 0});
  CutTable cuts;
  cuts.add(Rank(1), Term(1), 0);
  EXPECT_EQ(first_lost(stream, cuts), 16u);
}

// The stream is taken as it grows; what is stable is forgotten and nothing else is.
TEST(RecordedDependencies, SayTheSameAsTheWholeStream) {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 200; ++round) {
    std::vector<std::byte> stream;
    CutTable cuts;
    StableVector stable;
    std::vector<std::uint64_t> depended(3), known(3);
    RecordedDependencies recorded;
    for (int step = 0; step < 400; ++step) {
      const auto rank = random() % 3;
      if (random() % 3 == 0) encode(stream, {EventKind::time, 0, random()});
      else encode(stream, record_of({Rank(static_cast<int>(rank)), Term(0), depended[rank] += 16}));
      if (random() % 20 == 0) recorded.take(Bytes(stream).subspan(recorded.taken(), stream.size() - recorded.taken() - random() % 2 * 8), cuts);
      if (random() % 3 != 0 || known[rank] == depended[rank]) continue;
      stable.raise({Rank(static_cast<int>(rank)), Term(0), known[rank] += 16});
      recorded.forget_stable(cuts, stable);
    }
    // Some cuts come before the rest of the stream is taken, some behind; most lose nothing.
    std::uint32_t term = 0;
    for (int i = 0; i < 6; ++i) {
      const auto lost = random() % 3;
      cuts.add(Rank(static_cast<int>(lost)), Term(++term), std::max(known[lost], depended[lost] - std::min(depended[lost], random() % 4 * 16)));
      if (random() % 2 == 0) recorded.take(Bytes(stream).subspan(recorded.taken()), cuts);
      if (recorded.taken() == stream.size() || random() % 2 == 0) {
        EXPECT_EQ(recorded.first_lost(cuts), first_lost(Bytes(stream).first(recorded.taken()), cuts));
      }
      recorded.forget_stable(cuts, stable);
    }
    recorded.take(Bytes(stream).subspan(recorded.taken()), cuts);
    EXPECT_EQ(recorded.first_lost(cuts), first_lost(stream, cuts));
  }
}

TEST(RecordedDependencies, AreFewWhenMostIsStable) {
  RecordedDependencies recorded;
  StableVector stable;
  for (std::uint64_t i = 1; i <= 10000; ++i) {
    std::vector<std::byte> record;
    encode(record, record_of({Rank(1), Term(0), i * 16}));
    recorded.take(record, {});
    stable.raise({Rank(1), Term(0), i * 16});
    recorded.forget_stable({}, stable);
    ASSERT_LE(recorded.size(), 64u);
  }
}

}  // namespace
}  // namespace hf::core::vprotocol
