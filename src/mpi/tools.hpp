// The tool interface (MPI 5.0, 15.3). Holdfast offers no variables, categories or events: what a tool asks for is not there. No function
// of it calls an error handler (15.3.10) or touches the engine, so that any thread may call it, before MPI_Init and after MPI_Finalize too.
#pragma once
#include <cstdint>

namespace hf::mpi::tools {

using Session = std::uintptr_t;  // of performance variables; 0: MPI_T_PVAR_SESSION_NULL

int init_thread(int required, int* provided);
int finalize();

// The code, or MPI_T_ERR_NOT_INITIALIZED.
int refuse(int code);
// There are none.
int count(int* number);
// There is nothing of this name.
int find(const char* name, const int* index);

int create_session(Session& session);
int free_session(Session& session);
// The code, or MPI_T_ERR_INVALID_SESSION.
int refuse_in(Session session, int code);

}  // namespace hf::mpi::tools
