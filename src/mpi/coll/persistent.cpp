// What the initialisation of a persistent collective tells the members: the name of its context.
#include "mpi/coll/algorithms.hpp"
#include "mpi/coll/run.hpp"
#include "mpi/comm_make.hpp"
#include "mpi/context_name.hpp"

namespace hf::mpi {

// Named before the arguments are looked at, so that a process whose own are wrong does not leave the others waiting here.
int name_persistent(Process& p, Comm& comm, const char* name, Context& context) {
  Context point;
  const int code = run_collective(p, comm, name, [&](Schedule& s) {
    if (comm.is_inter()) s.among_both_groups();
    if (s.rank() == 0) {
      if (int failed = draw_name(p, point)) return failed;
    }
    list_bcast(s, Part::raw(&point, sizeof point), 0);
    return static_cast<int>(success);
  });
  if (!code) context = context_sibling(point, ContextKind::collective);
  return code;
}

}  // namespace hf::mpi
