// The command line of `holdfast run`, as users of mpirun and mpiexec type it, made into a Job.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "daemon/control_messages.hpp"
#include "daemon/job.hpp"
#include "daemon/launcher/launcher.hpp"
#include "daemon/placement.hpp"
#include "daemon/watch/metrics_server.hpp"

namespace hf::daemon {

// Where the ranks of a lost node start again: on a spare one or not at all; on a spare one or, when none is left, spread over the others.
enum class OnNodeLoss { spare, spread, end };

struct RunOptions {
  Job job;
  LaunchOptions launch;
  std::vector<std::string> hosts;  // of the agents, by number
  TreeSettings tree;
  OnNodeLoss on_node_loss = OnNodeLoss::spread;
  bool label = false;
  bool verbose = false;
  bool detach = false;
  std::uint64_t output_limit_bytes = 64 << 20;  // of output that is kept, with detach
  std::string report_path, trace_path;
  std::optional<MetricsAddress> metrics;  // where to serve them
  std::vector<std::string> without_effect;  // options that were accepted and mean nothing here
  std::string answer;                       // --help, --version: print this and exit 0
};

struct UsageError {
  int exit_code = 2;  // 2 usage, 126 not executable, 127 not found
  std::string text;
};

// `arguments` without the command's name; `environment` as in environ; `directory`: the current one, absolute, or empty where it was removed. `placed`: the number
// and places of the ranks are given.
std::expected<RunOptions, UsageError> parse_run(const std::vector<std::string>& arguments,
                                                const std::vector<std::string>& environment,
                                                const std::string& directory, const std::optional<Placement>& placed = std::nullopt);

// What `holdfast run` answers to --help or --version among its options; empty: neither is.
std::string answer_of(const std::vector<std::string>& arguments);

// "64M", "1.5G", "4096": bytes.
Result<std::uint64_t> parse_size(const std::string& text);

}  // namespace hf::daemon
