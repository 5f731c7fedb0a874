// What other parts of mpi/ need of buffered sending.
#pragma once
#include "base/ids.hpp"
#include "mpi/comm.hpp"

namespace hf::mpi {

class Process;
struct TypedBuffer;

// Copies the message into the attached buffer and starts it; MPI_ERR_BUFFER when there is no room.
int start_buffered(Process& p, const TypedBuffer& from, Rank destination, MessageTag tag, Comm& comm);
// MPI_Finalize: every buffered message leaves.
void flush_all_buffers(Process& p);

}  // namespace hf::mpi
