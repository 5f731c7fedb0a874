// Our libmpi_abi.so.1, and those of others in a rank's processes.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace hf::daemon {

// Programs find our library before one that they were linked with, whatever their rpath says.
void let_find_own_library(std::vector<std::string>& environment);

// The path of another MPI library that `process` or a descendant has loaded and not ours: such a program would run as n jobs of one rank.
std::optional<std::string> foreign_mpi_of(pid_t process);

// The path of one that it has loaded beside ours; empty: none.
std::string second_mpi_of(pid_t process);

}  // namespace hf::daemon
