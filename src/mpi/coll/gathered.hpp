// Reductions by an operation of the program that must not run before the call which completes them (Schedule::defers). Arguments as in
// algorithms.hpp; r.count is not 0. Each receiver holds the inputs of all in temporary buffers.
#pragma once
#include "mpi/coll/algorithms.hpp"

namespace hf::mpi {

void list_gathered_allreduce(Schedule& s, const Reduction& r, const void* send, void* receive);
void list_gathered_reduce(Schedule& s, const Reduction& r, const void* send, void* receive, int root);
void list_gathered_prefix(Schedule& s, const Reduction& r, const void* send, void* receive, bool own);
// `first`: of each rank's block, and the end.
void list_gathered_reduce_scatter(Schedule& s, const Reduction& r, const void* send, void* receive, const Count* first);
// Of an intercommunicator: the remote group's inputs, of whose result this rank gets `n` elements from that one on.
void list_gathered_inter(Schedule& s, const Reduction& r, const void* send, void* receive, Count from, Count n);
// `receive`: where root is MPI_ROOT; the others have none.
void list_gathered_inter_reduce(Schedule& s, const Reduction& r, const void* send, void* receive, int root);

}  // namespace hf::mpi
