// Hosts as users of mpirun and mpiexec write them. Pure.
#pragma once
#include <string_view>
#include <vector>

#include "daemon/placement.hpp"

namespace hf::daemon {

// "a:4,b,user@c:2". A host that is named again has the slots of both.
Result<std::vector<Host>> parse_hosts(std::string_view text);
// Lines of "a slots=4" (Open MPI), "a:4" (MPICH) or "a"; # begins a comment. `name`: of the file, for errors.
Result<std::vector<Host>> parse_hostfile(std::string_view text, std::string_view name);
// "node", "slot", "ppr:N:node", each also with ":oversubscribe" behind it, which sets that.
Result<MapBy> parse_map_by(std::string_view text, bool& oversubscribe);

}  // namespace hf::daemon
