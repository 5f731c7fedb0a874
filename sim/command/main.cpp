// holdfast-sim: runs the simulator over seeds; a seed that fails prints the command that replays it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "os/print.hpp"
#include "sim/command/job.hpp"
#include "sim/command/time.hpp"
#include "sim/scenario.hpp"

namespace {

using hf::os::print_error, hf::os::print_output;
using hf::sim::Cost;

void say(const char* phase, const Cost& cost) {
  print_output("  {:5}  {:.3f} s, {} rounds, frames an agent {:.1f} (at most {}), heartbeats an agent {:.1f}, {} KiB in all\n", phase,
               cost.seconds, cost.rounds, cost.frames_mean, cost.frames_max, cost.heartbeats_mean, cost.bytes >> 10);
}

int agents_command(int count, char** values) {
  hf::sim::Scenario scenario;
  std::uint64_t first_seed = 1, seeds = 1;
  std::string kill = "5%";
  double latency_ms = 0.2;
  CLI::App app{"Simulates the agents of a job: they start, some are lost, the others heal the tree and agree. holdfast-sim job: ranks and their protocols. "
               "holdfast-sim time: how long kernels take."};
  app.option_defaults()->always_capture_default();
  app.add_option("--agents", scenario.cores.agents, "number of agents")->check(CLI::Range(1, 1'000'000));
  app.add_option("--fan-out", scenario.cores.tree.fan_out, "children of an agent")->check(CLI::Range(2, 65536));
  app.add_option("--kill", kill, "how many die: 5% or 0.05");
  app.add_option("--silent", scenario.silent, "fraction of them that is lost with the node: no connection closes")->check(CLI::Range(0.0, 1.0));
  app.add_flag("--at-once", scenario.at_once, "all faults in the same instant, not within half a second");
  app.add_option("--stop", scenario.stop, "agents that are stopped for 2 s and continued")->check(CLI::NonNegativeNumber);
  app.add_flag("--stop-head", scenario.stop_head, "the head too is stopped for 2 s");
  app.add_option("--latency", latency_ms, "of the network, in ms; a frame takes half to one and a half of it")->check(CLI::Range(0.001, 100.0));
  app.add_option("--hiccup", scenario.hiccup, "agents that are stopped for 0.25 s")->check(CLI::NonNegativeNumber);
  app.add_option("--partition", scenario.partitions, "1: a subtree is cut off for 3 s")->check(CLI::Range(0, 1));
  app.add_option("--lose-connection", scenario.lose_connections, "agents whose connection to the parent is lost")->check(CLI::NonNegativeNumber);
  app.add_flag("--busy", scenario.busy, "every timer is up to 0.2 s late");
  app.add_flag("!--no-messages", scenario.messages, "no messages but those of start and healing");
  app.add_option("--seeds", seeds, "number of runs")->check(CLI::PositiveNumber);
  app.add_option("--first-seed", first_seed, "seed of the first run");
  CLI11_PARSE(app, count, values);
  try {
    bool percent = kill.ends_with('%');
    std::size_t end = 0;
    scenario.kill = std::stod(kill, &end) / (percent ? 100 : 1);
    if (end + (percent ? 1 : 0) != kill.size() || !(scenario.kill >= 0 && scenario.kill <= 0.9)) throw std::invalid_argument(kill);
  } catch (const std::exception&) {
    print_error("holdfast-sim: --kill {}: give a fraction up to 90% (--kill 5%)\n", kill);
    return 2;
  }
  int wanted = static_cast<int>(scenario.kill * scenario.cores.agents) + scenario.stop + scenario.hiccup + scenario.lose_connections;
  if (wanted * 2 > scenario.cores.agents + 2) {
    print_error("holdfast-sim: {} faults are too many for {} agents: at most half of them may suffer one\n", wanted, scenario.cores.agents);
    return 2;
  }
  if (scenario.partitions > 0 && scenario.cores.agents <= scenario.cores.tree.fan_out) {
    print_error("holdfast-sim: --partition needs an agent with others below it: more agents, or a lower --fan-out\n");
    return 2;
  }
  scenario.network.latency_ns = static_cast<std::int64_t>(latency_ms * 0.5e6);
  scenario.network.jitter_ns = static_cast<std::int64_t>(latency_ms * 1e6);
  int failed = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    scenario.seed = seed;
    auto outcome = hf::sim::run(scenario);
    print_output("seed {}: {} agents, {} dead, {} decisions, a death found in at most {:.3f} s: {}\n", seed, scenario.cores.agents, outcome.dead,
                 outcome.version, outcome.found_max_seconds, outcome.violations.empty() ? "good" : "FAILED");
    say("start", outcome.start);
    say("heal", outcome.heal);
    for (const std::string& violation : outcome.violations) print_output("  {}\n", violation);
    if (outcome.violations.empty()) continue;
    ++failed;
    std::string again = fmt::format("{}", values[0]);
    for (int i = 1; i < count; ++i) {
      std::string_view word = values[i];
      bool value = word == "--seeds" || word == "--first-seed";
      if (!value && !word.starts_with("--seeds=") && !word.starts_with("--first-seed=")) again += fmt::format(" {}", word);
      if (value) ++i;
    }
    print_output("  again: {} --seeds 1 --first-seed {}\n", again, seed);
  }
  if (failed > 0) print_output("{} of {} seeds failed\n", failed, seeds);
  return failed > 0 ? 1 : 0;
}

}  // namespace

int main(int count, char** values) {
  const std::string_view command = count > 1 ? values[1] : "";
  const int code = command == "job"    ? hf::sim::job::job_command(count - 1, values + 1)
                   : command == "time" ? hf::sim::job::time_command(count - 1, values + 1)
                                       : agents_command(count, values);
  return hf::os::finish_output("holdfast-sim", code);
}
