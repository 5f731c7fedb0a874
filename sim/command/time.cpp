// holdfast-sim time: how long a kernel takes under each protocol, with how many ranks.
#include "sim/command/time.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "os/print.hpp"
#include "sim/job/kernels.hpp"

namespace hf::sim::job {
namespace {

struct Wanted {
  std::string kernel = "lu";
  std::vector<int> ranks{16, 64, 256};
  std::vector<std::string> protocols{"none", "pessimist", "optimist"};
  int ranks_a_node = 2;
  bool csv = false;
};

JobOptions options_of(const JobOptions& common, const Wanted& wanted, int ranks, const std::string& protocol) {
  JobOptions options = common;
  options.ranks = ranks;
  options.nodes = (ranks + wanted.ranks_a_node - 1) / wanted.ranks_a_node;
  options.optimist = protocol == "optimist";
  options.timing->logs = protocol != "none";
  options.level = options.timing->logs ? Level::node : Level::process;
  if (!options.timing->logs) options.event_loggers = 0;
  return options;
}

void print_head(bool csv) {
  if (csv) os::print_output("kernel,ranks,protocol,seconds,ratio,determinants,messages,dependency_frames,dependency_bytes\n");
  else os::print_output("{:6} {:>6}  {:10} {:>10} {:>7} {:>13} {:>10} {:>22}\n", "kernel", "ranks", "protocol", "s", "ratio", "determinants",
                        "messages", "dependencies, B/message");
}

void print_row(const Wanted& wanted, int ranks, const std::string& protocol, const JobOutcome& out, double first_s) {
  const double s = static_cast<double>(out.finished_ns) * 1e-9, ratio = first_s > 0 ? s / first_s : 1;
  if (wanted.csv) {
    os::print_output("{},{},{},{:.6f},{:.4f},{},{},{},{}\n", wanted.kernel, ranks, protocol, s, ratio, out.determinants, out.messages,
                     out.dependency_frames, out.dependency_bytes);
  } else {
    const double bytes = out.messages > 0 ? static_cast<double>(out.dependency_bytes) / static_cast<double>(out.messages) : 0;
    os::print_output("{:6} {:6}  {:10} {:10.4f} {:7.3f} {:13} {:10} {:22.2f}\n", wanted.kernel, ranks, protocol, s, ratio, out.determinants,
                     out.messages, bytes);
  }
  os::pass_output();
}

// Like every other run it is checked: a protocol that is wrong is not worth timing.
bool time_kernel(const JobOptions& common, const Wanted& wanted) {
  print_head(wanted.csv);
  for (int ranks : wanted.ranks) {
    double first_s = 0;
    std::vector<std::uint64_t> results;
    for (const std::string& protocol : wanted.protocols) {
      const JobOutcome out = run_job(options_of(common, wanted, ranks, protocol), {});
      const bool same = results.empty() || results == out.results;
      for (const std::string& violation : out.violations) os::print_error("holdfast-sim: {} with {} ranks: {}\n", protocol, ranks, violation);
      if (!same) os::print_error("holdfast-sim: {} with {} ranks: another result than under {}\n", protocol, ranks, wanted.protocols[0]);
      if (!out.violations.empty() || !same) return false;
      results = out.results;
      print_row(wanted, ranks, protocol, out, first_s);
      if (first_s == 0) first_s = static_cast<double>(out.finished_ns) * 1e-9;
    }
  }
  return true;
}

}  // namespace

int time_command(int count, char** values) {
  Timing timing;
  Costs& costs = timing.costs;
  JobOptions options;
  options.steps = 3;
  options.spares = 0;
  options.event_loggers = 0;
  options.event_copies = 1;
  Wanted wanted;
  double latency_us = 45, mb_s = 1000 / costs.network_ns_a_byte, event_us = 6.3, logger_us = 5, exchange_us = 1000, log_gb_s = 1 / costs.log_ns_a_byte;
  CLI::App app{"Simulates a NAS parallel benchmark, class C, without faults, on a network with given costs, and says how long it takes.",
               "holdfast-sim time"};
  app.option_defaults()->always_capture_default();
  app.add_option("--kernel", wanted.kernel, "its communication")->check(CLI::IsMember({"bt", "cg", "ft", "lu", "mg", "sp"}));
  app.add_option("--ranks", wanted.ranks, "numbers of ranks: 16,64,256")->delimiter(',')->check(CLI::Range(2, 16'384));
  app.add_option("--protocols", wanted.protocols, "the others are compared with the first")->delimiter(',')
      ->check(CLI::IsMember({"none", "pessimist", "optimist"}));
  app.add_option("--steps", options.steps, "of the kernel")->check(CLI::Range(1, 1000));
  app.add_option("--ranks-per-node", wanted.ranks_a_node, "they share the node's link")->check(CLI::Range(1, 1024));
  app.add_option("--event-loggers", options.event_loggers, "nodes that hold determinants; 0: each node the next one's")->check(CLI::Range(0, 1024));
  app.add_flag("--any-planes", timing.any_planes, "lu: every line comes from any source, not the faces alone");
  app.add_option("--gflops", timing.gflops, "of a rank")->check(CLI::Range(0.01, 1000.0));
  app.add_option("--latency-us", latency_us, "between nodes, one way")->check(CLI::Range(0.1, 1e6));
  app.add_option("--mb-s", mb_s, "of a node's link")->check(CLI::Range(1.0, 1e6));
  app.add_option("--event-us", event_us, "to make a determinant and hand it over")->check(CLI::Range(0.0, 1e6));
  app.add_option("--logger-us", logger_us, "until whoever holds determinants has taken a frame of them")->check(CLI::Range(0.0, 1e6));
  app.add_option("--exchange-us", exchange_us, "optimist: agents tell each other what is stable so often")->check(CLI::Range(1.0, 1e6));
  app.add_option("--log-gb-s", log_gb_s, "the sender log is filled so fast")->check(CLI::Range(0.1, 1e3));
  app.add_flag("--csv", wanted.csv, "numbers alone, with commas");
  CLI11_PARSE(app, count, values);
  timing.kernel = *kernel_named(wanted.kernel);
  for (int ranks : wanted.ranks) {
    if (takes(timing.kernel, ranks)) continue;
    os::print_error("holdfast-sim: --ranks {}: {} takes a {}\n", ranks, wanted.kernel,
                    wanted.kernel == "bt" || wanted.kernel == "sp" ? "square number of them" : "power of two");
    return 2;
  }
  auto ns = [](double us) { return static_cast<std::int64_t>(us * 1000); };
  costs.latency_ns = ns(latency_us), costs.event_ns = ns(event_us), costs.append_ns = ns(logger_us), costs.exchange_ns = ns(exchange_us);
  costs.network_ns_a_byte = 1000 / mb_s, costs.log_ns_a_byte = 1 / log_gb_s;
  options.timing = timing;
  return time_kernel(options, wanted) ? 0 : 1;
}

}  // namespace hf::sim::job
