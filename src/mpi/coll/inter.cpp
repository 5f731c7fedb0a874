#include "mpi/coll/inter.hpp"

#include "mpi/coll/algorithms.hpp"

namespace hf::mpi {

void list_swap(Schedule& s, const Part& mine, const Part& theirs) {
  Comm& comm = s.comm();
  s.among(retain(comm.remote));
  if (comm.rank() == 0) {
    if (mine.bytes) s.send(0, mine);
    if (theirs.bytes) s.wait(s.recv(0, theirs));
  }
  s.among(retain(comm.group));
  list_bcast(s, theirs, 0);
}

}  // namespace hf::mpi
