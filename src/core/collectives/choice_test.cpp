#include "core/collectives/choice.hpp"

#include <gtest/gtest.h>

namespace hf::core::collectives {
namespace {

Rule rule(int nodes, int ranks, std::uint64_t bytes, Algorithm algorithm) {
  return {Collective::bcast, algorithm, Logging::any, 0, nodes, ranks, 0, bytes};
}

TEST(Choice, NamesAreFoundAgain) {
  for (int i = 0; i < wire::collective_count; ++i) {
    const auto collective = static_cast<Collective>(i);
    EXPECT_EQ(collective_named(name_of(collective)), collective);
    EXPECT_FALSE(algorithms_of(collective).empty());
  }
  for (int i = 0; i < wire::algorithm_count; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    EXPECT_EQ(algorithm_named(name_of(algorithm)), algorithm);
  }
  EXPECT_FALSE(collective_named("ibarrier"));
  EXPECT_FALSE(algorithm_named(""));
}

TEST(Choice, ValidRules) {
  EXPECT_TRUE(valid(rule(1, 1, 0, Algorithm::binomial)));
  EXPECT_FALSE(valid(rule(1, 1, 0, Algorithm::bruck))) << "bcast has no such algorithm";
  EXPECT_FALSE(valid(rule(0, 1, 0, Algorithm::binomial)));
  EXPECT_FALSE(valid(rule(1, -1, 0, Algorithm::binomial)));
  Rule damaged = rule(1, 1, 0, Algorithm::binomial);
  damaged.collective = static_cast<Collective>(200);
  EXPECT_FALSE(valid(damaged));
  damaged = rule(1, 1, 0, Algorithm::binomial);
  damaged.logging = static_cast<Logging>(7);
  EXPECT_FALSE(valid(damaged));
  damaged = rule(1, 1, 0, static_cast<Algorithm>(200));
  EXPECT_FALSE(valid(damaged));
}

TEST(Choice, BuiltInTableSuitsEveryCollective) {
  const ChoiceTable table;
  for (int i = 0; i < wire::collective_count; ++i) {
    const auto collective = static_cast<Collective>(i);
    for (const int ranks : {1, 2, 3, 6, 16, 64}) {
      for (const int nodes : {1, 2, 64}) {
        for (const std::uint64_t bytes : {0ull, 8ull, 8192ull, 1ull << 40}) {
          EXPECT_TRUE(valid({collective, table.choose(collective, false, nodes, ranks, bytes)})) << name_of(collective);
          EXPECT_TRUE(valid({collective, table.choose(collective, true, nodes, ranks, bytes)})) << name_of(collective);
        }
      }
    }
  }
}

TEST(Choice, NodesBeforeRanksBeforeBytes) {
  ChoiceTable table;
  const Rule rules[] = {rule(1, 1, 100, Algorithm::scatter_ring), rule(1, 8, 0, Algorithm::linear),
                        rule(2, 1, 0, Algorithm::scatter_ring), rule(1, 1, 0, Algorithm::binomial)};
  table.replace(rules);
  auto choose = [&](int nodes, int ranks, std::uint64_t bytes) { return table.choose(Collective::bcast, false, nodes, ranks, bytes); };
  EXPECT_EQ(choose(1, 4, 99), Algorithm::binomial);
  EXPECT_EQ(choose(1, 4, 100), Algorithm::scatter_ring);
  EXPECT_EQ(choose(1, 7, 1000), Algorithm::scatter_ring);
  EXPECT_EQ(choose(1, 8, 1000), Algorithm::linear);
  EXPECT_EQ(choose(2, 8, 0), Algorithm::scatter_ring);
}

TEST(Choice, ARuleMayBeForJobsThatLog) {
  ChoiceTable table;
  Rule rules[] = {rule(1, 1, 0, Algorithm::binomial), rule(1, 2, 0, Algorithm::linear), rule(1, 2, 0, Algorithm::scatter_ring)};
  rules[1].logging = Logging::off;
  rules[2].logging = Logging::on;
  table.replace(rules);
  EXPECT_EQ(table.choose(Collective::bcast, false, 1, 2, 0), Algorithm::linear);
  EXPECT_EQ(table.choose(Collective::bcast, true, 1, 2, 0), Algorithm::scatter_ring);
  EXPECT_EQ(table.choose(Collective::bcast, true, 1, 1, 0), Algorithm::binomial);
  rules[0].ranks = 2;  // before them in the list, and for any job
  table.replace(rules);
  EXPECT_EQ(table.choose(Collective::bcast, false, 1, 2, 0), Algorithm::linear);
  EXPECT_EQ(table.choose(Collective::bcast, true, 1, 2, 0), Algorithm::scatter_ring);
}

TEST(Choice, RulesReplaceThoseOfTheirCollectiveOnly) {
  ChoiceTable table;
  const ChoiceTable untouched;
  const Rule rules[] = {rule(1, 3, 0, Algorithm::linear)};
  table.replace(rules);
  EXPECT_EQ(table.choose(Collective::bcast, false, 1, 3, 1 << 20), Algorithm::linear);
  EXPECT_EQ(table.choose(Collective::bcast, false, 1, 2, 1 << 20), algorithms_of(Collective::bcast)[0]) << "no rule is left for it";
  EXPECT_EQ(table.choose(Collective::reduce, false, 1, 3, 1 << 20), untouched.choose(Collective::reduce, false, 1, 3, 1 << 20));
}

// A choice that is kept must not outlive its range: just inside of it the table says the same, at its ends something else may begin.
TEST(Choice, HoldsForTheBytesThatItSays) {
  EXPECT_FALSE(Choice{}.holds_for(0)) << "nothing has been looked up";
  ChoiceTable own;
  const Rule rules[] = {rule(1, 2, 100, Algorithm::linear), rule(1, 4, 10, Algorithm::scatter_ring),
                        rule(1, 1, 50, Algorithm::scatter_ring)};
  own.replace(rules);
  for (const ChoiceTable& table : {ChoiceTable(), own}) {
    for (int c = 0; c < wire::collective_count; ++c) {
      const auto collective = static_cast<Collective>(c);
      for (int nodes : {1, 2}) {
        for (int ranks : {1, 2, 3, 4, 6, 16}) {
          for (std::uint64_t bytes : {0ull, 8ull, 49ull, 50ull, 99ull, 100ull, 4096ull, 1ull << 20}) {
            const Choice choice = table.look_up(collective, false, nodes, ranks, bytes);
            EXPECT_TRUE(choice.holds_for(bytes));
            EXPECT_FALSE(choice.holds_for(choice.below));
            for (std::uint64_t same : {choice.from, choice.below - 1}) {
              EXPECT_TRUE(choice.holds_for(same));
              EXPECT_EQ(table.choose(collective, false, nodes, ranks, same), choice.algorithm) << name_of(collective) << ' ' << same;
            }
          }
        }
      }
    }
  }
  EXPECT_FALSE(own.look_up(Collective::bcast, false, 1, 2, 50).holds_for(100));
  EXPECT_FALSE(own.look_up(Collective::bcast, false, 1, 2, 50).holds_for(49));
}

// What a job's table says is said by any other table that is given its rules.
TEST(ChoiceTable, GivesAllItsRules) {
  ChoiceTable job, other;
  const Rule own[] = {{.collective = Collective::bcast, .algorithm = Algorithm::linear},
                      {.collective = Collective::scan, .algorithm = Algorithm::chain, .logging = Logging::on, .ranks = 3}};
  job.replace(own);
  for (int c = 0; c < wire::collective_count; ++c) {
    const auto collective = static_cast<Collective>(c);
    const Rule wrong = {.collective = collective, .algorithm = algorithms_of(collective).back()};
    other.replace({&wrong, 1});
  }
  for (bool logging : {false, true}) {
    ChoiceTable told = other;
    told.replace(job.rules(logging));
    for (const Rule& rule : job.rules(logging)) EXPECT_TRUE(valid(rule));
    for (int c = 0; c < wire::collective_count; ++c) {
      const auto collective = static_cast<Collective>(c);
      for (int ranks : {2, 3, 4, 16, 64}) {
        for (std::uint64_t bytes : {0u, 8u, 4096u, 65536u, 1u << 20}) {
          EXPECT_EQ(told.choose(collective, logging, 1, ranks, bytes), job.choose(collective, logging, 1, ranks, bytes));
        }
      }
    }
  }
}

}  // namespace
}  // namespace hf::core::collectives
