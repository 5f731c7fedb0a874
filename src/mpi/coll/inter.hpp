// Collectives of intercommunicators (MPI 5.0, 6.2.3): data go from one group to the other, by a root in one of them or both
// ways. Inside a group the algorithms are those of intracommunicators.
#pragma once
#include "mpi/coll/schedule.hpp"

namespace hf::mpi {

// What rank 0 of each group has in `mine` is with all of the other group in `theirs` when the last step has run.
void list_swap(Schedule& s, const Part& mine, const Part& theirs);

}  // namespace hf::mpi
