// What can be asked about processes that a program starts (MPI 5.0, 11.8), where it starts none.
#include "mpi/api.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {

// No process of this library was started by MPI_Comm_spawn.
int comm_get_parent(Process&, Comm*& parent) {
  parent = nullptr;
  return success;
}

}  // namespace hf::mpi
