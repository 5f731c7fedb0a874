// Checks of the arguments of collectives beyond those of the entry points (api.hpp). Each gives MPI_SUCCESS or a code with
// one line of explanation.
#pragma once
#include "mpi/arrays.hpp"
#include "mpi/datatype.hpp"
#include "mpi/op.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {

int check_root(Process& p, int root, const Comm& comm);
// `what`: of which argument, for the text: "send" or "receive".
int check_block(Process& p, const char* what, const void* buffer, Count count, const Datatype& type);
// `blocks` blocks of `count` elements each, side by side.
int check_blocks(Process& p, const char* what, const void* buffer, Count count, const Datatype& type, int blocks);
// Counts and displacements by rank, or by what `whose` says.
int check_vector(Process& p, const char* what, const void* buffer, const CountArray& counts,
                 const CountArray& displacements, const Datatype& type, int size, const char* whose = "rank");
int check_in_place(Process& p, const char* what, const void* buffer);  // MPI_IN_PLACE is not allowed here
int check_reduction(Process& p, const void* send, const void* receive, Count count, const Datatype& type, const Op& op);

}  // namespace hf::mpi
