#include "daemon/launcher/slurm_allocation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "os/process.hpp"

namespace hf::daemon {
namespace {

using Words = std::vector<std::string>;

std::string lookup(const Words& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') return entry.substr(name.size() + 1);
  }
  return {};
}

// A number at the beginning of the text, which is taken off; 0: none.
int take_number(std::string_view& text) {
  int value = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc()) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

bool in_slurm_allocation(const Words& environment) {
  return !lookup(environment, "SLURM_JOB_ID").empty() && !lookup(environment, "SLURM_JOB_NODELIST").empty();
}

std::vector<int> expand_counts(std::string_view text) {
  std::vector<int> out;
  while (!text.empty()) {
    const int value = take_number(text);
    int times = 1;
    if (text.starts_with("(x")) {
      text.remove_prefix(2);
      times = take_number(text);
      if (!text.starts_with(')')) return {};
      text.remove_prefix(1);
    }
    constexpr std::size_t nodes_max = 1 << 16;
    const bool fits = times >= 1 && static_cast<std::size_t>(times) <= nodes_max - out.size();
    if (value < 1 || !fits || (!text.empty() && text[0] != ',')) return {};
    out.insert(out.end(), static_cast<std::size_t>(times), value);
    if (!text.empty()) text.remove_prefix(1);
  }
  return out;
}

std::vector<int> slots_of_slurm_allocation(const Words& environment, std::size_t nodes) {
  // Without a number of tasks Slurm counts one for each node, or none; in a shell that is a step of the allocation it counts that.
  if (!lookup(environment, "SLURM_NTASKS").empty()) {
    std::vector<int> tasks = expand_counts(lookup(environment, "SLURM_TASKS_PER_NODE"));
    if (tasks.size() == nodes && lookup(environment, "SLURM_STEP_ID").empty()) return tasks;
  }
  std::vector<int> cores = expand_counts(lookup(environment, "SLURM_JOB_CPUS_PER_NODE"));
  const std::string per_task = lookup(environment, "SLURM_CPUS_PER_TASK");
  std::string_view rest = per_task;
  const int each = std::max(take_number(rest), 1);
  for (int& count : cores) count = std::max(count / each, 1);
  return cores.size() == nodes ? cores : std::vector<int>{};
}

Result<std::vector<Host>> hosts_of_slurm_allocation(const Words& environment) {
  const std::string list = lookup(environment, "SLURM_JOB_NODELIST"), path = lookup(environment, "PATH");
  auto scontrol = os::find_program("scontrol", "", path.empty() ? nullptr : path.c_str());
  if (!scontrol) return fail("in an allocation of Slurm, but scontrol is not in PATH (--launcher local: this machine alone)");
  os::Command command;
  command.path = *scontrol;
  command.arguments = {"scontrol", "show", "hostnames", list};
  command.environment = environment;
  Result<std::string> names = os::output_of(command);
  if (!names) return fail(fmt::format("scontrol show hostnames {}: {}", list, names.error().text));
  std::vector<Host> out;
  std::istringstream in(*names);
  for (std::string name; in >> name;) out.push_back({name, slots_not_said});
  const std::vector<int> slots = slots_of_slurm_allocation(environment, out.size());
  if (out.empty() || slots.empty()) {
    return fail(fmt::format("SLURM_JOB_CPUS_PER_NODE says nothing of the {} nodes of {}: name them, as in --hosts n0:4,n1:4", out.size(),
                            list));
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i].slots = slots[i];
  return out;
}

}  // namespace hf::daemon
