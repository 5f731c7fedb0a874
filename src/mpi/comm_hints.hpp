#pragma once
#include <string_view>

#include "mpi/comm.hpp"

namespace hf::mpi {

// Takes over the hints for communicators that Holdfast knows; ignores all others, and values that are no booleans (MPI 5.0,
// 7.4.4).
void add_comm_hints(Comm& comm, const Info& info);

// Memory may come from the system and from MPI_Alloc_mem; the program cannot change that (11.4.3).
inline constexpr std::string_view memory_kinds_key = "mpi_memory_alloc_kinds", memory_kinds = "mpi,system";

}  // namespace hf::mpi
