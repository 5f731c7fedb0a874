// The blocks of a buffer that go to or come from one process each, as the arguments of a collective describe them. The
// arguments have been checked (check.hpp) except where said.
#pragma once
#include <span>

#include "mpi/arrays.hpp"
#include "mpi/coll/schedule.hpp"

namespace hf::mpi {

// `n` blocks of `count` elements side by side.
Part* uniform_blocks(Schedule& s, const void* buffer, Count count, const Datatype& type, int n);
// By counts and displacements in elements.
Part* vector_blocks(Schedule& s, const void* buffer, const CountArray& counts, const CountArray& displs,
                    const Datatype& type, int n);
// Each of its own type, displacements in bytes. Checks them, and keeps the types; `what`: "send" or "receive".
int typed_blocks(Process& p, Schedule& s, const char* what, const void* buffer, const CountArray& counts,
                 const CountArray& displs, std::span<Datatype* const> types, int n, Part*& blocks);

}  // namespace hf::mpi
