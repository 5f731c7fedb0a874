// How two groups become an intercommunicator (MPI 5.0, 7.6.2).
#pragma once
#include "base/ids.hpp"
#include "mpi/comm.hpp"
#include "mpi/error.hpp"

namespace hf::mpi {

class Process;

// The way from a leader to the other one: messages with this tag in a context that is open.
struct Link {
  Context context;
  Rank leader;  // the other one, job-wide
  MessageTag tag;
  int code = success;  // else what is wrong with the leader's arguments, explained: all of its group are to hear of it
  bool nobody = false;  // the other group is empty: there is no communicator, which is no error
};

// Called by all of `local`; the leaders' links, which alone count, lead to each other.
int join_groups(Process& p, Comm& local, int local_leader, const Link& link, Comm*& made);

}  // namespace hf::mpi
