// Dissemination: in round k each rank tells the one 2^k further and hears from the one 2^k before. Linear: each tells all others, in one round.
#include "mpi/api.hpp"
#include "mpi/coll/algorithms.hpp"
#include "mpi/coll/run.hpp"

namespace hf::mpi {

namespace {

// Of an intercommunicator for all of both groups, which is more than it needs: who leaves knows that the other group has come.
int make_barrier(Schedule& s) {
  if (s.comm().is_inter()) s.among_both_groups();
  list_barrier(s);
  return success;
}

}  // namespace

void list_barrier(Schedule& s) {
  const int size = s.size(), rank = s.rank();
  if (s.choose(Collective::barrier, 0) == Algorithm::linear) {
    for (int i = 1; i < size; ++i) s.send((rank + i) % size, {});
    for (int i = 1; i < size; ++i) s.recv((rank + i) % size, {});
    return s.settle();
  }
  for (int distance = 1; distance < size; distance *= 2) {
    s.send((rank + distance) % size, {});
    s.wait(s.recv((rank - distance + size) % size, {}));
  }
}

int barrier(Process& p, Comm& comm) {
  return run_collective(p, comm, "Barrier", make_barrier);
}

int ibarrier(Process& p, Comm& comm, Request*& request) {
  return start_collective(p, comm, "Ibarrier", request, make_barrier);
}

int barrier_init(Process& p, Comm& comm, Info*, Request*& request) {
  return init_collective(p, comm, "Barrier_init", request, make_barrier);
}

}  // namespace hf::mpi
