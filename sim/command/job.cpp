#include "sim/command/job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "os/print.hpp"
#include "sim/job/options.hpp"

namespace hf::sim::job {
namespace {

struct Sum {
  std::uint64_t failed = 0, ended = 0, deaths = 0, moves = 0, events = 0, messages = 0;
  std::uint64_t rollbacks = 0, orphaned_messages = 0, waits_for_terms = 0;
  std::uint64_t diverged = 0, reported = 0;
};

std::string again(const JobOptions& options, const std::vector<int>& only) {
  std::string kinds;
  for (Fault::Kind kind : options.kinds) kinds += fmt::format("{}{}", kinds.empty() ? " --kinds " : ",", name_of(kind));
  return fmt::format("holdfast-sim job --protocol {} --ranks {} --nodes {} --spares {} --event-loggers {} --event-copies {} "
                     "--log-level {} --workload {} --steps {} --faults {}{} --first-seed {} --only {}",
                     options.optimist ? "optimist" : "pessimist", options.ranks, options.nodes, options.spares, options.event_loggers,
                     options.event_copies, name_of(options.level), name_of(options.workload), options.steps, options.faults, kinds,
                     options.seed, fmt::join(only, ","));
}

void report_failure(const JobOptions& options, const SeedOutcome& outcome) {
  const JobOptions run = drawn(options);
  os::print_output("seed {}: FAILED ({}, level {}, {} event loggers, {} copies)\n", options.seed, name_of(run.workload), name_of(run.level),
                   run.event_loggers, run.event_copies);
  for (const std::string& violation : outcome.faulty.violations) os::print_output("  {}\n", violation);
  const std::vector<int> left = shrink(options, outcome);
  for (int i : left) {
    const auto at = static_cast<std::size_t>(i);
    if (at < outcome.faults.size()) os::print_output("  fault {}: {}\n", i, describe(outcome.faults[at]));
  }
  os::print_output("  again: {}\n", again(options, left));
}

}  // namespace

int job_command(int count, char** values) {
  JobOptions options;
  std::uint64_t seeds = 1, failures_max = 5;
  std::string protocol = "pessimist", level = "any", workload = "any";
  std::vector<std::string> kinds;
  CLI::App app{"Simulates the ranks of a job: matching, message logging, determinants on other nodes, under faults at any event.",
               "holdfast-sim job"};
  app.option_defaults()->always_capture_default()->take_last();
  app.add_option("--ranks", options.ranks, "number of ranks")->check(CLI::Range(2, 1'000'000));
  app.add_option("--nodes", options.nodes, "nodes that they are spread over")->check(CLI::Range(1, 100'000));
  app.add_option("--spares", options.spares, "nodes without ranks")->check(CLI::Range(0, 100'000));
  app.add_option("--event-loggers", options.event_loggers, "nodes that hold determinants and do nothing else; -1: drawn")
      ->check(CLI::Range(-1, 100'000));
  app.add_option("--event-copies", options.event_copies, "nodes that hold each determinant; 0: drawn")->check(CLI::Range(0, 16));
  app.add_option("--protocol", protocol, "message logging")->check(CLI::IsMember({"pessimist", "optimist"}));
  app.add_option("--log-level", level, "where determinants are stable; any: drawn, but process")
      ->check(CLI::IsMember({"process", "node", "disk", "node+disk", "any"}));
  app.add_option("--workload", workload, "the program")
      ->check(CLI::IsMember({"ring", "stencil", "wavefront", "farm", "traffic", "mixed", "reductions", "any"}));
  app.add_option("--steps", options.steps, "of the program")->check(CLI::Range(1, 1'000'000));
  app.add_option("--faults", options.faults, "at most so many are drawn (some strike several at once)")->check(CLI::Range(0, 100'000));
  app.add_option("--kinds", kinds, "of faults: kill, kill-at-point, kill-again, connection, node, related-nodes, pause, holder-connection, slow-holder, "
                 "disk-stands-still, disk-fails, disk-damage, diverge; under optimist: rollback")
      ->delimiter(',')->take_all()->always_capture_default(false);
  app.add_option("--seeds", seeds, "number of runs")->check(CLI::PositiveNumber);
  app.add_option("--first-seed", options.seed, "seed of the first run");
  app.add_option("--only", options.only, "of the faults of a seed, these alone: 0,2")
      ->delimiter(',')->take_all()->always_capture_default(false);
  app.add_option("--failures", failures_max, "stop after so many")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, count, values);
  if (options.nodes > options.ranks) {
    os::print_error("holdfast-sim: {} nodes for {} ranks: give every node a rank, and others with --spares\n", options.nodes,
                    options.ranks);
    return 2;
  }
  for (Level l : {Level::process, Level::node, Level::disk, Level::node_and_disk}) {
    if (level == name_of(l)) options.level = l;
  }
  options.optimist = protocol == "optimist";
  for (const std::string& text : kinds) {
    int kind = 0;
    while (kind < Fault::kinds && text != name_of(static_cast<Fault::Kind>(kind))) ++kind;
    const int end = options.optimistic() ? Fault::diverge : options.keeps_events() ? Fault::strike_rollback : Fault::lose_node;
    if (kind >= end && (kind != Fault::diverge || !options.keeps_events())) {
      os::print_error("holdfast-sim: --kinds {}: there is no such fault under {} at level {} (holdfast-sim job --help)\n", text, protocol,
                      level);
      return 2;
    }
    options.kinds.push_back(static_cast<Fault::Kind>(kind));
  }
  for (Workload w : {Workload::ring, Workload::stencil, Workload::wavefront, Workload::farm, Workload::traffic, Workload::mixed,
                     Workload::reductions}) {
    if (workload == name_of(w)) options.workload = w;
  }
  Sum sum;
  const auto began = std::chrono::steady_clock::now();
  const std::uint64_t first = options.seed;
  for (; options.seed < first + seeds && sum.failed < failures_max; ++options.seed) {
    const SeedOutcome outcome = run_seed(options);
    sum.deaths += outcome.faulty.deaths;
    sum.moves += outcome.faulty.moves;
    sum.events += outcome.faulty.events;
    sum.messages += outcome.faulty.messages;
    sum.rollbacks += outcome.faulty.rollbacks;
    sum.orphaned_messages += outcome.faulty.orphaned_messages;
    sum.waits_for_terms += outcome.faulty.waits_for_terms;
    sum.diverged += outcome.faulty.diverged;
    sum.reported += outcome.faulty.reported;
    sum.ended += !outcome.faulty.ended.empty();
    if (outcome.faulty.violations.empty()) continue;
    ++sum.failed;
    report_failure(options, outcome);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const std::uint64_t runs = options.seed - first;
  os::print_output("{} of {} seeds failed: {} deaths of ranks, {} nodes lost, {} jobs ended by a rule, "
                   "{} events, {} messages; {:.1f} s, {:.0f} seeds a second\n",
                   sum.failed, runs, sum.deaths, sum.moves, sum.ended, sum.events, sum.messages, seconds, static_cast<double>(runs) / seconds);
  if (options.optimistic()) {
    os::print_output("{} orphans rolled back, {} of their messages taken out of queues, {} frames waited for the board\n", sum.rollbacks,
                     sum.orphaned_messages, sum.waits_for_terms);
  }
  if (sum.diverged > 0) os::print_output("{} replays sent something else, {} were reported\n", sum.diverged, sum.reported);
  return sum.failed > 0 ? 1 : 0;
}

}  // namespace hf::sim::job
