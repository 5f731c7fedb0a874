// How requests end. What a completion test finds depends on timing and is recorded (design rule 4), so every test goes
// through one of the functions of completion.cpp; Wait and Waitall find what the program's order of calls implies.
#pragma once
#include "mpi/request.hpp"

namespace hf::mpi {

// True for a request that a completion function has to look at: not null, not inactive.
inline bool is_live(const Request* request) { return request && request->active; }

// Completes a request that is done: fills the status, then the request becomes null, or inactive if persistent.
// Returns the operation's error code, having named the communicator to blame.
int complete_request(Process& p, Request*& request, Status& status);

// MPI_Request_free: the handle is null afterwards; an active request goes when it is done.
int request_free(Process& p, Request*& request);
// MPI_Grequest_complete: `request` becomes null when the program had freed it, so that it is gone now.
int grequest_complete(Process& p, Request*& request);

}  // namespace hf::mpi
