// Dependency vectors: what is said to whom, what is recorded, when an entry is left out; and their encodings.
#include "core/vprotocol/dependencies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "base/test_seed.hpp"
#include "core/vprotocol/cuts.hpp"
#include "core/vprotocol/stable_vector.hpp"

namespace hf::core::vprotocol {
namespace {

using List = std::vector<Dependency>;

Dependency dependency(int rank, std::uint32_t term, std::uint64_t position) { return {Rank(rank), Term(term), position}; }
List copy(std::span<const Dependency> list) { return {list.begin(), list.end()}; }
// With what was said of it to whom.
struct Vector : DependencyVector {
  using DependencyVector::DependencyVector;
  bool changed_for(int to) { return changed_since(said[to]); }
  List taken(int to) {
    List out;
    take_changes(said[to], out);
    return out;
  }
  std::map<int, std::uint64_t> said;
};

TEST(Dependencies, Encoding) {
  std::vector<std::byte> out;
  const List list{dependency(1, 2, 48), dependency(3, 0, 16)};
  encode_dependencies(out, list);
  const unsigned char expected[32] = {1, 0, 0, 0, 2, 0, 0, 0, 48, 0, 0, 0, 0, 0, 0, 0,  //
                                      3, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0};
  ASSERT_EQ(out.size(), sizeof expected);
  EXPECT_EQ(std::memcmp(out.data(), expected, sizeof expected), 0);
  List back;
  EXPECT_TRUE(decode_dependencies(out, 4, back));
  EXPECT_EQ(back, list);
  EXPECT_FALSE(decode_dependencies(out, 3, back)) << "there is no rank 3";
  EXPECT_TRUE(back.empty());
  EXPECT_FALSE(decode_dependencies(Bytes(out).first(31), 4, back)) << "cut short";
  out[16] = std::byte{1};
  EXPECT_FALSE(decode_dependencies(out, 4, back)) << "rank 1 twice";
  out[16] = std::byte{3}, out[31] = std::byte{1};
  EXPECT_FALSE(decode_dependencies(out, 4, back)) << "no position is that large";
  out[31] = std::byte{0}, out[23] = std::byte{1};
  EXPECT_FALSE(decode_dependencies(out, 4, back)) << "no term is that high";
}

TEST(Dependencies, RecordsAreOneEventHead) {
  const Dependency d = dependency(70000, 65535, (std::uint64_t{1} << 48) - 16);
  EXPECT_EQ(dependency_of(record_of(d)), d);
  EXPECT_EQ(encoded_bytes(record_of(d)), 16u);
  EXPECT_DEATH(record_of(dependency(0, 65536, 0)), "term");
}

TEST(DependencyVector, SaysWhatChangedSinceTheLastMessageToTheSameReceiver) {
  const CutTable no_cuts;
  Vector vector(Rank(0));
  EXPECT_FALSE(vector.changed_for(1));
  vector.on_event(Term(0), 16);
  EXPECT_TRUE(vector.changed_for(1));
  EXPECT_EQ(vector.taken(1), (List{dependency(0, 0, 16)}));
  EXPECT_FALSE(vector.changed_for(1));
  EXPECT_TRUE(vector.changed_for(2));
  const Dependency other = dependency(3, 0, 32);
  vector.merge({&other, 1}, no_cuts);
  EXPECT_EQ(vector.taken(1), (List{other})) << "rank 1 has heard of (0, 16)";
  EXPECT_EQ(vector.taken(2), (List{dependency(0, 0, 16), other}));
  vector.on_event(Term(0), 48);
  EXPECT_TRUE(vector.changed_for(1)) << "a changed entry, not only a new one";
  EXPECT_EQ(vector.taken(1), (List{dependency(0, 0, 48)}));
  vector.said.erase(1);
  EXPECT_EQ(vector.taken(1), (List{dependency(0, 0, 48), other}));
}

TEST(DependencyVector, GivesWhatBecameLarger) {
  const CutTable no_cuts;
  Vector vector(Rank(0));
  const List first{dependency(0, 0, 160), dependency(1, 0, 32), dependency(2, 0, 16)};
  EXPECT_EQ(copy(vector.merge(first, no_cuts)), (List{first[1], first[2]})) << "of its own events it knows";
  EXPECT_TRUE(vector.merge(first, no_cuts).empty());
  const List second{dependency(1, 0, 16), dependency(2, 0, 48)};
  EXPECT_EQ(copy(vector.merge(second, no_cuts)), (List{second[1]}));
}

// A list at once is as its entries one by one, also where ranks do not rise all the way.
TEST(DependencyVector, MergesAListAsItsEntries) {
  std::mt19937_64 draw(test_seed());
  CutTable cuts;
  cuts.add(Rank(3), Term(1), 160);
  Vector whole(Rank(5)), single(Rank(5));
  for (int round = 0; round < 500; ++round) {
    List list;
    for (auto n = draw() % 30; n > 0; --n) {
      const int rank = static_cast<int>(draw() % 40), last = list.empty() ? -1 : list.back().rank.value;
      const auto term = static_cast<std::uint32_t>(rank == 3 ? draw() % 2 : 0);
      if (rank > last || draw() % 10 == 0) list.push_back(dependency(rank, term, 1 + draw() % (rank == 3 && term == 0 ? 160 : 2000)));
    }
    List larger;
    for (const Dependency& d : list) {
      for (const Dependency& one : single.merge({&d, 1}, cuts)) larger.push_back(one);
    }
    ASSERT_EQ(copy(whole.merge(list, cuts)), larger);
    ASSERT_EQ(whole.entries(), single.entries());
    const int to = static_cast<int>(draw() % 3);
    ASSERT_EQ(whole.taken(to), single.taken(to));
    StableVector stable;
    for (int i = 0; i < 10; ++i) stable.raise(dependency(static_cast<int>(draw() % 40), 0, draw() % 2000));
    ASSERT_TRUE(whole.look(cuts, stable) && single.look(cuts, stable));
  }
}

TEST(DependencyVector, AnEntryIsLeftOutWhenItIsStable) {
  CutTable cuts;
  StableVector stable;
  Vector vector(Rank(0));
  vector.on_event(Term(0), 16);
  const Dependency other = dependency(1, 0, 32);
  vector.merge({&other, 1}, cuts);
  stable.raise(dependency(1, 0, 16));
  EXPECT_TRUE(vector.look(cuts, stable));
  EXPECT_EQ(vector.entries(), (List{dependency(0, 0, 16), other})) << "16 bytes are stable, not 32";
  stable.raise(dependency(1, 0, 32));
  stable.raise(dependency(0, 0, 16));
  EXPECT_TRUE(vector.look(cuts, stable));
  EXPECT_TRUE(vector.empty());
  EXPECT_FALSE(vector.changed_for(1)) << "there is nothing to say any more";
}

TEST(DependencyVector, AStableEntryOfAnotherTermSaysNothing) {
  CutTable cuts;
  StableVector stable;
  Vector vector(Rank(0));
  const Dependency old = dependency(1, 0, 16);
  vector.merge({&old, 1}, cuts);
  stable.raise(dependency(1, 1, 16));
  EXPECT_TRUE(vector.look(cuts, stable));
  EXPECT_EQ(vector.entries(), (List{old})) << "whether it was kept is not known yet";
  cuts.add(Rank(1), Term(1), 16);
  EXPECT_TRUE(vector.look(cuts, stable));
  EXPECT_TRUE(vector.empty()) << "kept, so that it is the stable one";
}

TEST(DependencyVector, ACutMakesAnOrphanOrRenews) {
  CutTable cuts;
  const StableVector nothing;
  Vector one(Rank(0)), other(Rank(2));
  const Dependency early = dependency(1, 0, 16), late = dependency(1, 0, 32);
  one.merge({&early, 1}, cuts);
  other.merge({&late, 1}, cuts);
  cuts.add(Rank(1), Term(1), 16);
  EXPECT_TRUE(one.look(cuts, nothing));
  EXPECT_EQ(one.entries(), (List{dependency(1, 1, 16)})) << "kept, and not known to be stable";
  EXPECT_FALSE(other.look(cuts, nothing));
  // Renewed is not changed: the receiver does the same.
  one.taken(3);
  cuts.add(Rank(1), Term(2), 64);
  EXPECT_TRUE(one.look(cuts, nothing));
  EXPECT_FALSE(one.changed_for(3));
  // Compared as of one term.
  const List again{dependency(1, 0, 16), dependency(1, 2, 8), dependency(1, 2, 24)};
  EXPECT_EQ(copy(one.merge(again, cuts)), (List{again[2]}));
}

// A receiver that adds up what it is told, in order, knows all that the vector has; entries are told once for each change.
TEST(DependencyVector, DrawnAtRandom) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  for (int round = 0; round < 200; ++round) {
    CutTable cuts;
    StableVector stable;
    Vector vector(Rank(0));
    std::map<int, std::uint64_t> own, known_stable;
    std::map<int, std::map<int, std::uint64_t>> told;
    for (int i = 0; i < 200; ++i) {
      const int rank = static_cast<int>(draw() % 5);
      const std::uint64_t position = 16 * (1 + draw() % 60);
      if (draw() % 4 == 0) {
        stable.raise(dependency(rank, 0, position / 2));
        known_stable[rank] = std::max(known_stable[rank], position / 2);
        ASSERT_TRUE(vector.look(cuts, stable));
      } else if (rank == 0) {
        vector.on_event(Term(0), position);
        own[0] = std::max(own[0], position);
      } else {
        const Dependency d = dependency(rank, 0, position);
        ASSERT_EQ(vector.merge({&d, 1}, cuts).empty(), position <= own[rank] && own[rank] > known_stable[rank]);
        own[rank] = std::max(own[rank], position);
      }
      std::erase_if(own, [&](const auto& entry) { return entry.second <= known_stable[entry.first] && draw() % 2; });
      ASSERT_TRUE(vector.look(cuts, stable));
      std::erase_if(own, [&](const auto& entry) { return entry.second <= known_stable[entry.first]; });
      const int to = static_cast<int>(1 + draw() % 4);
      for (const Dependency& d : vector.taken(to)) {
        ASSERT_NE(told[to][d.rank.value], d.position) << "said twice";
        told[to][d.rank.value] = d.position;
      }
      ASSERT_FALSE(vector.changed_for(to));
      for (const auto& [of, at] : own) ASSERT_EQ(told[to][of], at);
      ASSERT_EQ(vector.entries().size(), own.size());
    }
  }
}

TEST(StableVector, TellsWhatChanged) {
  StableVector vector;
  std::uint64_t stamp = 0;
  List out;
  EXPECT_TRUE(vector.raise(dependency(1, 0, 16)));
  EXPECT_TRUE(vector.raise(dependency(2, 0, 16)));
  EXPECT_FALSE(vector.raise(dependency(1, 0, 8)));
  vector.take_changes(stamp, out);
  EXPECT_EQ(out, (List{dependency(1, 0, 16), dependency(2, 0, 16)}));
  EXPECT_TRUE(vector.raise(dependency(1, 1, 8))) << "a newer term, though it has less";
  EXPECT_FALSE(vector.raise(dependency(1, 0, 64)));
  EXPECT_GT(vector.stamp(), stamp);
  vector.take_changes(stamp, out);
  EXPECT_EQ(out, (List{dependency(1, 1, 8)}));
  EXPECT_EQ(vector.stamp(), stamp);
  EXPECT_TRUE(vector.covers(dependency(1, 1, 8)));
  EXPECT_FALSE(vector.covers(dependency(1, 0, 8)));
  EXPECT_FALSE(vector.covers(dependency(1, 1, 16)));
  EXPECT_FALSE(vector.covers(dependency(3, 0, 0)));
}

}  // namespace
}  // namespace hf::core::vprotocol
