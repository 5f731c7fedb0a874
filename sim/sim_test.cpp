// Runs of the simulator that must be good, and how their cost grows. A failure names the seed and the options; holdfast-sim
// replays it.
#include <gtest/gtest.h>

#include <cmath>

#include "base/test_seed.hpp"
#include "sim/scenario.hpp"

namespace hf::sim {
namespace {

Scenario scenario(int agents, int fan_out, std::uint64_t seed) {
  Scenario s;
  s.cores.agents = agents;
  s.cores.tree.fan_out = fan_out;
  s.seed = seed;
  return s;
}

Outcome good(const Scenario& s, const std::string& options) {
  Outcome outcome = run(s);
  for (const std::string& violation : outcome.violations) {
    ADD_FAILURE() << violation << "\nagain: holdfast-sim --agents " << s.cores.agents << " --fan-out " << s.cores.tree.fan_out << " " << options
                  << " --first-seed " << s.seed;
  }
  return outcome;
}

// Fixed seeds, so that a change of the code and not the day breaks a build; one fresh seed beside them.
std::vector<std::uint64_t> seeds(std::uint64_t count) {
  std::vector<std::uint64_t> out{test_seed() % 1'000'000};
  for (std::uint64_t seed = 1; seed < count; ++seed) out.push_back(seed);
  return out;
}

TEST(Simulator, AThousandAgentsStartLoseOneInTwentyAndAgree) {
  for (std::uint64_t seed : seeds(2)) {
    Scenario s = scenario(1024, 32, seed);
    s.kill = 0.05;
    Outcome outcome = good(s, "--kill 5%");
    EXPECT_EQ(outcome.dead, 51) << "seed " << seed;
  }
}

TEST(Simulator, AllFaultsTogether) {
  for (std::uint64_t seed : seeds(8)) {
    Scenario s = scenario(120, 3, seed);
    s.kill = 0.1;
    s.stop = s.hiccup = s.lose_connections = 3;
    s.partitions = 1;
    s.stop_head = seed % 2;
    good(s, std::string("--kill 10% --stop 3 --hiccup 3 --lose-connection 3 --partition 1") + (s.stop_head ? " --stop-head" : ""));
  }
}

// 25 to 75 ms a frame, seven levels: decisions overtake each other.
TEST(Simulator, ASlowNetwork) {
  for (std::uint64_t seed : seeds(6)) {
    Scenario s = scenario(150, 2, seed);
    s.kill = 0.2;
    s.network = {25'000'000, 50'000'000};
    good(s, "--kill 20% --latency 50");
  }
}

TEST(Simulator, BusyNodesAreNotTakenForDead) {
  for (std::uint64_t seed : seeds(4)) {
    Scenario s = scenario(120, 4, seed);
    s.busy = true;
    s.hiccup = 5;
    EXPECT_EQ(good(s, "--kill 0 --busy --hiccup 5").dead, 0);
  }
}

TEST(Simulator, ADeadNodeIsFoundWithinASecond) {
  for (std::uint64_t seed : seeds(10)) {
    Scenario s = scenario(100, 32, seed);
    s.kill = 0.01;
    s.silent = 1;
    Outcome outcome = good(s, "--kill 1% --silent 1");
    EXPECT_EQ(outcome.dead, 1);
    EXPECT_LT(outcome.found_max_seconds, 1.0);
  }
}

TEST(Simulator, TheSameSeedIsTheSameRun) {
  Scenario s = scenario(60, 4, 5);
  s.kill = 0.1;
  Outcome one = run(s), other = run(s);
  EXPECT_EQ(one.heal.bytes, other.heal.bytes);
  EXPECT_EQ(one.heal.seconds, other.heal.seconds);
  EXPECT_EQ(one.version, other.version);
}

struct Growth {
  double start_frames = 0, heal_frames = 0;
  std::uint64_t start_max = 0;
  int start_rounds = 0, heal_rounds = 0;
};

Growth measure(int agents, int fan_out) {
  Growth mean;
  constexpr int runs = 2;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    Scenario s = scenario(agents, fan_out, seed);
    s.kill = 0.05;
    s.at_once = true;
    s.messages = false;
    Outcome outcome = good(s, "--kill 5% --at-once --no-messages");
    mean.start_frames += outcome.start.frames_mean / runs;
    mean.heal_frames += outcome.heal.frames_mean / runs;
    mean.start_max = std::max(mean.start_max, outcome.start.frames_max);
    mean.start_rounds = std::max(mean.start_rounds, outcome.start.rounds);
    mean.heal_rounds = std::max(mean.heal_rounds, outcome.heal.rounds);
  }
  return mean;
}

int depth_of(int agents, int fan_out) {
  int depth = 0;
  for (std::int64_t place = agents; place > 0; place = (place - 1) / fan_out) ++depth;
  return depth;
}

// Issue 4: messages per agent and rounds grow no faster than the logarithm of the number of nodes.
TEST(Simulator, CostsGrowAsTheLogarithmOfTheNumberOfAgents) {
  for (int fan_out : {4, 32}) {
    for (int agents : {16, 64, 256, 1024, 4096}) {
      if (agents == 4096 && fan_out == 4) continue;  // takes long, and the default is the other
      SCOPED_TRACE("agents " + std::to_string(agents) + ", fan-out " + std::to_string(fan_out));
      Growth cost = measure(agents, fan_out);
      double levels = std::log2(agents);
      printf("%4d agents, fan-out %2d: start %4.1f frames an agent (at most %3d), %2d rounds; heal %4.1f frames, %2d rounds\n", agents, fan_out,
             cost.start_frames, static_cast<int>(cost.start_max), cost.start_rounds, cost.heal_frames, cost.heal_rounds);
      EXPECT_LE(cost.start_frames, levels);
      EXPECT_LE(cost.start_max, 15 * levels);
      // A view for each decision. The more agents, the more of them are lost with their parents: those take further decisions.
      EXPECT_LE(cost.heal_frames, levels);
      EXPECT_LE(cost.start_rounds, 2 * depth_of(agents, fan_out) + 2);
      EXPECT_LE(cost.heal_rounds, 3 * depth_of(agents, fan_out) + 2);
    }
  }
}

}  // namespace
}  // namespace hf::sim
