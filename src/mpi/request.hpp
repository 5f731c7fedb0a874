// Requests: one object for every kind of pending operation (MPI 5.0, 3.7).
#pragma once
#include <cstdint>

#include "engine/operation.hpp"
#include "mpi/comm.hpp"
#include "mpi/status.hpp"
#include "segment/waiting.hpp"

namespace hf::mpi {

struct Datatype;
class Process;

// Made with one reference, the program's handle. The completion functions (completion.cpp) call finish() and retire() and
// drop that reference, except of persistent requests, which become inactive.
struct Request : Object {
  enum class Kind : std::uint8_t { send, recv, collective, generalized, null_operation } kind = Kind::send;
  bool persistent = false;
  bool active = true;    // persistent requests: started and not yet completed
  bool freed = false;    // MPI_Request_free while active: completes by itself, then goes
  Comm* comm = nullptr;  // one reference, or null
  std::uint64_t named_by = 0;  // the last call that took it in an array of requests (Process::request_arrays)
  virtual ~Request() { release(comm); }
  // True once the operation is complete; no progress is made here.
  virtual bool done() const = 0;
  // Whose doing it waits for, for those who watch the job (segment/waiting.hpp); asked when a wait has become long.
  virtual Rank awaits() const { return segment::no_rank; }
  // Called when done: fills the status (given as the empty status) and returns its error code. MPI_Request_get_status
  // may call it as often as it likes: the program may use the buffer from the first call on, and the request stays.
  virtual int finish(Process&, Status&) = 0;
  // Called once, when the program completes the request or a freed one is done; the code is the completing call's.
  virtual int retire(Process&) { return 0; }
  // Persistent and inactive only: starts it again; the caller has set `active`.
  virtual int start(Process&) { return 0; }
  // Asks for cancellation; most kinds ignore it (MPI 5.0, 3.8.4).
  virtual int cancel(Process&) { return 0; }
};

}  // namespace hf::mpi
