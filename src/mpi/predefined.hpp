// The predefined objects, by their values in the standard ABI (MPI 5.0, A.1.1). They live as long as the process and
// are marked `predefined`. Those that hold state of the process (communicators, error handlers, MPI_MESSAGE_NO_PROC)
// are members of Process.
#pragma once

namespace hf::mpi {

struct Datatype;
struct Group;
struct Info;
struct Op;

// Null for a value that names no predefined object, and for the value of the null handle.
Datatype* predefined_datatype(int abi_value);
Op* predefined_op(int abi_value);

Group* empty_group();  // MPI_GROUP_EMPTY
Info* info_env();      // MPI_INFO_ENV

}  // namespace hf::mpi
