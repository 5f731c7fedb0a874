// The allocation of Slurm that this process runs in, by its environment.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "daemon/placement.hpp"

namespace hf::daemon {

bool in_slurm_allocation(const std::vector<std::string>& environment);
// Its nodes and their slots: the tasks that were asked for, otherwise the cores. Asks scontrol for the names.
Result<std::vector<Host>> hosts_of_slurm_allocation(const std::vector<std::string>& environment);

// Slots of so many nodes, as above; empty: the environment does not say.
std::vector<int> slots_of_slurm_allocation(const std::vector<std::string>& environment, std::size_t nodes);

// "4(x2),1": 4 4 1. Empty when it is something else.
std::vector<int> expand_counts(std::string_view text);

}  // namespace hf::daemon
