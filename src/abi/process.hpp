// The one process object of the library. Only abi/ may ask for it; everything below gets it as an argument.
#pragma once
#include "mpi/process.hpp"

namespace hf::abi {

// Made on the first call, never destroyed: MPI functions such as MPI_Finalized may be called while the program exits.
mpi::Process& process();

}  // namespace hf::abi
