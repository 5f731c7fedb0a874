// Sessions (MPI 5.0, 11.3): what a part of a program makes its groups, and of these its communicators, of. All sessions of a process and its
// MPI_COMM_WORLD are one process of the job, which the first of them joins and the last one leaves (joining.hpp).
#pragma once
#include <memory>
#include <string_view>

#include "mpi/buffered.hpp"
#include "mpi/errhandler.hpp"
#include "mpi/object.hpp"

namespace hf::mpi {

class Process;
struct Group;

// References: the program's handle, and each group that was made of it.
struct Session : Object {
  Session() = default;
  ~Session() { release(errhandler); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  bool open = true;                     // until MPI_Session_finalize
  Errhandler* errhandler = nullptr;     // one reference
  std::shared_ptr<BufferSpace> buffer;  // for buffered sends on its communicators that have none of their own; null: none
};

// Process sets (11.3.2). In names upper and lower case are the same, as in other libraries.
inline constexpr std::string_view world_set = "mpi://WORLD", self_set = "mpi://SELF";
bool names_set(std::string_view name, std::string_view set);

// MPI_Group_from_session_pset, which sets its handle whatever the code: null with MPI_ERR_ARG, when there is no such set (11.3.2).
int group_from_session_pset(Process& p, Session& session, const char* pset_name, Group*& newgroup);

}  // namespace hf::mpi
