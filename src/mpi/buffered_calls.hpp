// What other parts of mpi/ need of buffered sending.
#pragma once
#include <memory>

#include "base/ids.hpp"
#include "mpi/buffered.hpp"
#include "mpi/comm.hpp"

namespace hf::mpi {

class Process;
struct TypedBuffer;

// Copies the message into the attached buffer and starts it; MPI_ERR_BUFFER when there is no room.
int start_buffered(Process& p, const TypedBuffer& from, Rank destination, MessageTag tag, Comm& comm);
// Waits until the messages in the communicator's own buffer have left, and gives up the buffer; null: it had none.
// MPI_Comm_free, while the caller holds a reference to the communicator.
std::shared_ptr<BufferSpace> detach_buffer(Process& p, Comm& comm);
// MPI_Finalize: every buffered message leaves.
void flush_all_buffers(Process& p);

}  // namespace hf::mpi
