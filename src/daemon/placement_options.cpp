#include "daemon/placement_options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <sstream>

#include "daemon/host_list.hpp"
#include "daemon/launcher/slurm_allocation.hpp"
#include "daemon/paths.hpp"
#include "daemon/placement.hpp"

namespace hf::daemon {
namespace {

using Words = std::vector<std::string>;
using Kind = LaunchOptions::Kind;

constexpr int nodes_max = 256, hosts_max = 1024;

Result<std::vector<Host>> read_hostfile(const std::string& name, const std::string& directory) {
  Result<std::string> path = absolute("--hostfile", name, directory);
  if (!path) return std::unexpected(path.error());
  std::ifstream file(*path);
  std::stringstream text;
  if (!file || !(text << file.rdbuf())) return fail(fmt::format("--hostfile {}: cannot be read, or is empty", name));
  return parse_hostfile(text.str(), name);
}

Result<std::vector<Host>> hosts_given(const PlacementOptions& options, const std::string& directory) {
  if (!options.hosts.empty() && !options.hostfile.empty()) return fail("--hosts and --hostfile: give one of them");
  if (options.nodes) return fail("--nodes splits this machine, --hosts names machines: give one of them");
  return options.hosts.empty() ? read_hostfile(options.hostfile, directory) : parse_hosts(options.hosts);
}

Result<Kind> kind_of(const PlacementOptions& options, bool hosts_named, bool in_allocation) {
  if (options.launcher == "local" || options.nodes) return Kind::local;
  if (options.launcher == "ssh") {
    if (!hosts_named) return fail("--launcher ssh: name hosts, with --hosts or --hostfile");
    return Kind::ssh;
  }
  if (options.launcher == "slurm") {
    if (!in_allocation) return fail("--launcher slurm: not inside an allocation of Slurm (salloc -N 2, or a script for sbatch)");
    return Kind::slurm;
  }
  if (options.launcher != "auto") return fail(fmt::format("--launcher {}: auto, local, ssh or slurm", options.launcher));
  return in_allocation ? Kind::slurm : hosts_named ? Kind::ssh : Kind::local;
}

std::vector<Host> local_nodes(int count, WithoutRanks without) {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  std::vector<Host> out;
  for (int i = 0; i < count + without.count(); ++i) {
    out.push_back({count == 1 && i == 0 ? name : fmt::format("{}-node{}", name, i), slots_unlimited});
  }
  return out;
}

Words split_words(const std::string& text) {
  std::istringstream in(text);
  Words out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

Result<MapBy> map_by_of(const PlacementOptions& options, bool one_machine, bool& oversubscribe, Words& ignored) {
  if (options.per_node && *options.per_node < 1) return fail(fmt::format("--ppn {}: at least one rank on each node", *options.per_node));
  if (options.per_node && one_machine) ignored.push_back("--ppn");
  if (!options.per_node || one_machine) return parse_map_by(options.map_by, oversubscribe);
  if (!options.map_by.empty()) return fail("--ppn and --map-by: give one of them");
  return MapBy{MapBy::Kind::per_node, *options.per_node};
}

Result<> bind(const PlacementOptions& options, bool oversubscribe, Job& job) {
  if (options.bind_to == "core") {
    job.bind_to = BindTo::core;
  } else if (options.bind_to == "socket" || options.bind_to == "package") {
    job.bind_to = BindTo::socket;
  } else if (options.bind_to != "none") {
    return fail(fmt::format("--bind-to {}: core, socket or none", options.bind_to));
  }
  job.report_bindings = options.report_bindings;
  job.oversubscribe = oversubscribe;
  return {};
}

void take(const Placement& placed, RunOptions& out) {
  out.job.node_count = placed.node_count;
  out.job.node_of_rank = placed.node_of_rank;
  for (const Host& host : placed.hosts) {
    out.job.nodes.push_back({host.name.substr(host.name.find('@') + 1)});
    out.hosts.push_back(host.name);
  }
}

}  // namespace

void declare(CLI::App& app, PlacementOptions& options) {
  app.add_option("--nodes", options.nodes, "split the ranks over so many agents on this machine, joined by TCP only");
  app.add_option("--hosts,--host,-H", options.hosts, "a:4,b:4: machines and the ranks that each takes (1 when not said), reached by ssh");
  app.add_option("--hostfile,--machinefile,-f", options.hostfile, "the same in a file, a line each: a slots=4, or a:4");
  app.add_option("--map-by", options.map_by, "slot (default: a host is filled before the next), node (in turn), ppr:N:node (N on each)");
  app.add_option("--ppn,--perhost,-N", options.per_node, "as --map-by ppr:N:node");
  app.add_flag("--oversubscribe", options.oversubscribe, "more ranks than slots may share the hosts");
  app.add_option("--bind-to", options.bind_to, "none (default), core or socket: to which processors a rank is bound");
  app.add_flag("--report-bindings", options.report_bindings, "say to which processors each rank is bound");
  app.add_option("--launcher", options.launcher,
                 "auto (default: srun in an allocation of Slurm, ssh when hosts are named), local, ssh (to this machine too) or slurm");
  app.add_option("--launcher-exec", options.launcher_command, "instead of ssh or srun, with options, as in 'ssh -p 2222'");
  app.add_option("--remote-path", options.remote_path, "holdfast on the hosts (default: as on this machine)");
  app.add_option("--head-address", options.head_address, "address of this machine for the hosts (default: found out)");
}

Result<> apply(const PlacementOptions& options, const Words& environment, const std::string& directory, WithoutRanks without,
               RunOptions& out, Words& ignored) {
  const int nodes = options.nodes.value_or(1);
  if (nodes < 1 || nodes > nodes_max) return fail(fmt::format("--nodes {}: 1 to {}", nodes, nodes_max));
  const bool named = !options.hosts.empty() || !options.hostfile.empty();
  Result<Kind> kind = kind_of(options, named, in_slurm_allocation(environment));
  if (!kind) return std::unexpected(kind.error());
  Result<std::vector<Host>> hosts = named                   ? hosts_given(options, directory)
                                    : *kind == Kind::slurm ? hosts_of_slurm_allocation(environment)
                                                           : local_nodes(nodes, without);
  if (!hosts) return std::unexpected(hosts.error());
  if (std::ssize(*hosts) > hosts_max) return fail(fmt::format("{} hosts: at most {} are supported", hosts->size(), hosts_max));
  bool oversubscribe = options.oversubscribe;
  const bool one_machine = !named && *kind == Kind::local && !options.nodes;
  Result<MapBy> map_by = map_by_of(options, one_machine, oversubscribe, ignored);
  if (!map_by) return std::unexpected(map_by.error());
  for (Program& program : out.job.programs) {
    if (program.count == 0) program.count = ranks_that_fill(*hosts, *map_by, without);
  }
  const int ranks = out.job.rank_count();
  if (ranks > job_ranks_max) return fail(fmt::format("{} ranks: more than {} are not supported (-n)", ranks, job_ranks_max));
  Result<Placement> placed = place(std::move(*hosts), ranks, *map_by, oversubscribe, without);
  if (!placed) return std::unexpected(placed.error());
  take(*placed, out);
  out.launch.kind = *kind;
  out.launch.everywhere = options.launcher == "ssh";
  out.launch.command = split_words(options.launcher_command);
  out.launch.remote_path = options.remote_path;
  out.launch.head_address = options.head_address;
  return bind(options, oversubscribe, out.job);
}

Result<> apply(const PlacementOptions& options, const Placement& placed, WithoutRanks without, RunOptions& out) {
  if (without.event_loggers > 0) return fail("--event-loggers: a step of srun has no nodes without tasks");
  if (without.spares > 0) return fail("--spares: a step of srun has no nodes without tasks");
  if (options.nodes || options.per_node || !options.hosts.empty() || !options.hostfile.empty() || !options.map_by.empty() ||
      options.launcher != "auto") {
    return fail("srun has placed the ranks: options that place them are for holdfast run");
  }
  take(placed, out);
  out.launch.head_address = options.head_address;
  return bind(options, options.oversubscribe, out.job);
}

bool is_of_one_task(std::string_view entry) {
  for (std::string_view name : {"SLURM_PROCID=", "SLURM_LOCALID=", "SLURM_NODEID=", "SLURM_TASK_PID=", "SLURM_GTIDS=", "SLURMD_NODENAME=",
                                "SLURM_CPU_BIND", "SLURM_TOPOLOGY_ADDR"}) {
    if (entry.starts_with(name)) return true;
  }
  return false;
}

}  // namespace hf::daemon
