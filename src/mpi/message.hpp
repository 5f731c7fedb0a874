// A message taken out of matching by MPI_Mprobe or MPI_Improbe, until MPI_Mrecv or MPI_Imrecv (MPI 5.0, 3.8.2).
#pragma once
#include "engine/operation.hpp"
#include "mpi/comm.hpp"
#include "mpi/pool.hpp"

namespace hf::mpi {

// Owned by the program's handle; the matched receive deletes it. Process::message_no_proc is MPI_MESSAGE_NO_PROC.
struct Message : Object, Pooled<Message> {
  engine::MatchedMessage matched;
  Comm* comm = nullptr;  // one reference; null only in MPI_MESSAGE_NO_PROC
  ~Message() { release(comm); }
};

}  // namespace hf::mpi
