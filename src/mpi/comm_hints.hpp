#pragma once
#include "mpi/comm.hpp"

namespace hf::mpi {

// Takes over the hints for communicators that Holdfast knows; ignores all others, and values that are no booleans (MPI 5.0,
// 7.4.4).
void add_comm_hints(Comm& comm, const Info& info);

}  // namespace hf::mpi
