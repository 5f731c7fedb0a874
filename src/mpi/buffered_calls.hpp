// What other parts of mpi/ need of buffered sending.
#pragma once
#include <memory>

#include "base/ids.hpp"
#include "mpi/buffered.hpp"
#include "mpi/comm.hpp"

namespace hf::mpi {

class Process;
struct Session;
struct TypedBuffer;

// Copies the message into the attached buffer and starts it; MPI_ERR_BUFFER when there is no room.
int start_buffered(Process& p, const TypedBuffer& from, Rank destination, MessageTag tag, Comm& comm);
// Waits until the messages in the communicator's own buffer have left, and gives up the buffer; null: it had none.
// MPI_Comm_free, while the caller holds a reference to the communicator.
std::shared_ptr<BufferSpace> detach_buffer(Process& p, Comm& comm);
// Every buffered message leaves: of a session, MPI_Session_finalize; of communicators that belong to none and of the process's buffer, MPI_Finalize.
void flush_buffers(Process& p, const Session* of);
// The same for the process's buffer, which is the program's again.
void give_up_process_buffer(Process& p);

}  // namespace hf::mpi
