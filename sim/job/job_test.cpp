// Jobs that must be good, with fixed seeds and fresh ones. A failure prints the command that replays it.
#include <gtest/gtest.h>

#include "base/test_seed.hpp"
#include "sim/job/options.hpp"

namespace hf::sim::job {
namespace {

void good(JobOptions options, std::uint64_t seeds, const std::string& arguments) {
  std::uint64_t deaths = 0;
  const std::uint64_t fresh = test_seed() % 1'000'000'000;
  for (std::uint64_t i = 0; i < seeds; ++i) {
    options.seed = i % 4 == 0 ? fresh + i : i;
    const SeedOutcome outcome = run_seed(options);
    deaths += outcome.faulty.deaths + outcome.faulty.moves;
    for (const std::string& violation : outcome.faulty.violations) {
      ADD_FAILURE() << violation << "\nagain: holdfast-sim job " << arguments << " --first-seed " << options.seed;
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(deaths, seeds / 4);
}

TEST(SimulatedJob, LevelProcess) {
  JobOptions options;
  options.level = Level::process;
  good(options, 400, "--log-level process");
}

TEST(SimulatedJob, AnyLevel) { good({}, 600, ""); }

// Disks that tear, reorder and lose what was not synced, stand still and fail.
TEST(SimulatedJob, LevelDisk) {
  JobOptions options;
  options.level = Level::disk;
  good(options, 200, "--log-level disk");
  options.level = Level::node_and_disk;
  good(options, 200, "--log-level node+disk");
}

TEST(SimulatedJob, Copies) {
  JobOptions options;
  options.level = Level::node;
  options.nodes = 4;
  options.event_copies = 2;
  good(options, 200, "--nodes 4 --log-level node --event-copies 2");
}

// Each has failed once: what it found is in docs/sim.md.
TEST(SimulatedJob, SeedsThatHaveFailed) {
  struct Case {
    std::uint64_t seed;
    Level level;
    int nodes, copies;
    bool optimist;
  };
  static constexpr Case cases[] = {{17, Level::node_and_disk, 2, 0, false}, {147, Level::node_and_disk, 2, 0, false},
                                   {497, Level::node_and_disk, 2, 0, false}, {419, Level::disk, 2, 0, false},
                                   {613, Level::disk, 2, 0, false},          {36, Level::node, 4, 2, false},
                                   {214, Level::node, 4, 2, false},          {228, Level::node, 4, 2, false},
                                   {280, Level::node_and_disk, 2, 0, true},  {352, Level::node, 4, 2, true}};
  for (const Case& c : cases) {
    JobOptions options;
    options.seed = c.seed;
    options.level = c.level;
    options.nodes = c.nodes;
    options.event_copies = c.copies;
    options.optimist = c.optimist;
    options = drawn(options);
    // They have failed before there were programs with collectives.
    if (options.workload == Workload::mixed) options.workload = Workload::traffic;
    if (options.workload == Workload::reductions) options.workload = Workload::wavefront;
    for (const std::string& violation : run_seed(options).faulty.violations) ADD_FAILURE() << c.seed << ": " << violation;
  }
}

TEST(SimulatedJob, NodesAreLostTogether) {
  JobOptions options;
  options.level = Level::node;
  options.event_loggers = 0;
  options.event_copies = 1;
  options.ranks = 6;
  options.nodes = 5;
  options.spares = 2;
  options.kinds = {Fault::lose_related, Fault::pause_node};
  good(options, 300, "--log-level node --event-loggers 0 --event-copies 1 --ranks 6 --nodes 5 --spares 2 --kinds related-nodes,pause");
}

TEST(SimulatedJob, Optimist) {
  JobOptions options;
  options.optimist = true;
  options.event_copies = 1;
  good(options, 400, "--protocol optimist --event-copies 1");
  options.ranks = 6;
  options.nodes = 5;
  options.spares = 2;
  options.workload = Workload::traffic;
  options.kinds = {Fault::lose_node, Fault::strike_rollback, Fault::lose_related, Fault::pause_node};
  good(options, 150,
       "--protocol optimist --event-copies 1 --ranks 6 --nodes 5 --spares 2 --workload traffic --kinds node,rollback,related-nodes,pause");
}

TEST(SimulatedJob, Collectives) {
  JobOptions options;
  for (const bool optimist : {false, true}) {
    options.optimist = optimist;
    const std::string words = optimist ? "--protocol optimist --workload " : "--workload ";
    options.workload = Workload::mixed;
    good(options, 80, words + "mixed");
    options.workload = Workload::reductions;
    good(options, 80, words + "reductions");
  }
}

// What is sent otherwise after the loss of a node is noticed; how often it could not be is not said.
TEST(SimulatedJob, Divergence) {
  JobOptions options;
  options.kinds = {Fault::diverge, Fault::kill};
  options.faults = 6;
  for (const bool optimist : {false, true}) {
    options.optimist = optimist;
    std::uint64_t diverged = 0, reported = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
      options.seed = i == 0 ? 801 : i;  // which has failed
      const JobOutcome outcome = run_seed(options).faulty;
      diverged += outcome.diverged;
      reported += outcome.reported;
      for (const std::string& violation : outcome.violations) {
        ADD_FAILURE() << violation << "\nagain: holdfast-sim job --kinds diverge,kill --faults 6 --protocol "
                      << (optimist ? "optimist" : "pessimist") << " --first-seed " << options.seed;
      }
    }
    EXPECT_GT(reported, 20u);
    EXPECT_LE(reported, diverged);
  }
}

TEST(SimulatedJob, EventLoggers) {
  JobOptions options;
  options.ranks = 6;
  options.nodes = 4;
  options.event_loggers = 3;
  options.level = Level::node;
  options.workload = Workload::traffic;
  options.kinds = {Fault::lose_node, Fault::lose_related, Fault::pause_node, Fault::lose_holder_connection};
  const std::string words =
      "--log-level node --ranks 6 --nodes 4 --event-loggers 3 --workload traffic --kinds node,related-nodes,pause,holder-connection";
  good(options, 200, words.c_str());
  options.optimist = true;
  good(options, 200, ("--protocol optimist " + words).c_str());
}

// Holders that are given up and live on with what they had. Those of two copies have failed once (21447).
TEST(SimulatedJob, SlowHolders) {
  JobOptions options;
  options.ranks = options.nodes = 7;
  options.spares = 3;
  options.faults = 6;
  options.level = Level::node;
  options.kinds = {Fault::slow_holder, Fault::slow_holder, Fault::lose_node, Fault::lose_related, Fault::pause_node};
  for (const int copies : {1, 2}) {
    options.event_copies = copies;
    for (const bool optimist : {false, true}) {
      options.optimist = optimist;
      const std::string words = std::string(optimist ? "--protocol optimist " : "") + "--event-copies " + std::to_string(copies);
      good(options, 100, words + " --log-level node --ranks 7 --nodes 7 --spares 3 --faults 6 "
                                 "--kinds slow-holder,slow-holder,node,related-nodes,pause");
    }
  }
  options.event_copies = 2;
  options.optimist = false;
  options.seed = 21447;
  EXPECT_TRUE(run_seed(options).faulty.violations.empty());
}

TEST(SimulatedJob, ManyRanksAndFaults) {
  JobOptions options;
  options.ranks = 64;
  options.nodes = 8;
  options.spares = 3;
  options.faults = 64;
  options.kinds = {Fault::kill, Fault::kill_at_point, Fault::kill_again, Fault::lose_connection};
  good(options, 6, "--ranks 64 --nodes 8 --spares 3 --faults 64 --kinds kill,kill-at-point,kill-again,connection");
}

TEST(SimulatedJob, TheSameSeedIsTheSameRun) {
  JobOptions options;
  options.seed = 7;
  const SeedOutcome one = run_seed(options), other = run_seed(options);
  EXPECT_EQ(one.faulty.events, other.faulty.events);
  EXPECT_EQ(one.faulty.results, other.faulty.results);
  EXPECT_EQ(one.faulty.messages, other.faulty.messages);
}

}  // namespace
}  // namespace hf::sim::job
