// What becomes of an error that an MPI function has found: the error handler of its communicator, or of MPI_COMM_SELF for
// a call without one (MPI 5.0, 9.3).
#pragma once
#include <string>

#include "mpi/process.hpp"

namespace hf::abi {

// Whose error handler gets an error. All null: the communicator's that Process::blame named, else MPI_COMM_SELF's.
struct Blamed {
  mpi::Comm* comm = nullptr;
  mpi::Session* session = nullptr;
  mpi::Errhandler* handler = nullptr;  // not null: this one, although there is no object of which it is the handler
};

// Calls the error handler; returns the code that the MPI function returns, if the handler returns at all. Before MPI_Init
// every error is fatal that has no session and no `handler`.
[[gnu::cold]] int raise(mpi::Process& p, const char* function, int code, Blamed blamed);

// MPI_Comm_call_errhandler and its like: the handler is called as for an error in `function`; returns MPI_SUCCESS.
int call_errhandler(mpi::Process& p, const char* function, Blamed blamed, int code);

// The function was called while the process has not joined its job, and may not be: one line, and the process ends.
[[noreturn, gnu::cold]] void called_outside(mpi::Process& p, const char* function);

// Whether the handler that gets the error is MPI_ERRORS_RETURN.
[[gnu::cold]] bool only_returns(mpi::Process& p, Blamed blamed);

// Tells the user, once per function, that it is not there and has returned an error, and what comes of that.
[[gnu::cold]] void note_unsupported(mpi::Process& p, const char* function, const char* consequence);

// The explanation of MPI_ERR_UNSUPPORTED_OPERATION.
std::string unsupported_text(const char* function);

// Names another MPI library that this process has loaded, whose handles are none of ours; empty: there is none.
std::string second_mpi_text();

}  // namespace hf::abi
