// The options of `holdfast run` that say where ranks run and how agents get there.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "daemon/options.hpp"

namespace CLI {
class App;
}

namespace hf::daemon {

struct PlacementOptions {
  std::optional<int> nodes;
  std::string hosts, hostfile, map_by;
  std::optional<int> per_node;
  bool oversubscribe = false, report_bindings = false;
  std::string bind_to = "none";
  std::string launcher = "auto", launcher_command, remote_path, head_address;
};

void declare(CLI::App& app, PlacementOptions& options);

// Fills in the job's map, and how and where agents are started: one for each node, and more behind them
// `without` ranks.
// `out.job.programs` is known; a count of 0 there is what fills the hosts that are named. Options that mean nothing here are added to `ignored`.
Result<> apply(const PlacementOptions& options, const std::vector<std::string>& environment, const std::string& directory,
               WithoutRanks without, RunOptions& out, std::vector<std::string>& ignored);

// The same for ranks that are placed already, by srun.
Result<> apply(const PlacementOptions& options, const Placement& placed, WithoutRanks without, RunOptions& out);

// Variables that Slurm sets for one task: they would be wrong for all others.
bool is_of_one_task(std::string_view entry);

}  // namespace hf::daemon
