// Has a process loaded another MPI library than ours? Such a program would run as n jobs of one rank.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace hf::daemon {

// The path of an MPI library in the text of a /proc/PID/maps that is not ours; empty when there is none, or ours is
// there too. `own`: the path of our libmpi_abi.so.1, links resolved. Pure.
std::optional<std::string> find_foreign_mpi(std::string_view maps, std::string_view own);

// Looks at `process` and its descendants.
std::optional<std::string> foreign_mpi_of(pid_t process);

}  // namespace hf::daemon
