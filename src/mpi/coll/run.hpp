// How the calls of collectives become schedules: the blocking form runs it, the non-blocking form gives a request, the
// persistent form gives one that runs it at each start. `make` checks the arguments, then lists the steps; it returns an
// error code and has reserved no message number when it fails.
#pragma once
#include <memory>

#include "mpi/coll/schedule.hpp"
#include "mpi/opened_context.hpp"
#include "mpi/pool.hpp"
#include "mpi/process.hpp"
#include "mpi/request.hpp"

namespace hf::mpi {

struct CollectiveRequest final : Request, Pooled<CollectiveRequest> {
  Schedule schedule;
  CollectiveRequest(Process& p, Comm& on, const char* name, const Group& members) : schedule(p, on, name, members) {
    kind = Kind::collective;
    comm = retain(&on);
  }
  bool done() const override { return schedule.complete(); }
  Rank awaits() const override { return schedule.awaits(); }
  int finish(Process&, Status&) override { return schedule.finish(); }
};

// A persistent collective (MPI 5.0, 6.13) has a context of its own. Its calls to initialise are made in the same order by all
// members, its starts are not, with regard to those of others: the n-th start here and the n-th there take the same numbers
// in a space that no other operation has.
struct PersistentCollective final : Request, Pooled<PersistentCollective> {
  OpenedContext opened;
  Schedule schedule;
  PersistentCollective(Process& p, Comm& on, const char* name, Context context)
      : opened(*p.engine, context), schedule(p, on, name, *on.group, context) {
    kind = Kind::collective;
    persistent = true;
    active = false;
    comm = retain(&on);
  }
  bool done() const override { return schedule.complete(); }
  Rank awaits() const override { return schedule.awaits(); }
  int finish(Process&, Status&) override { return schedule.finish(); }
  int start(Process&) override { return schedule.restart(); }
};

// The members agree on the context of a persistent collective; its name is made as a communicator's (docs/contexts.md).
int name_persistent(Process& p, Comm& comm, const char* name, Context& context);

// Inline, and `make` in it, so that the arguments of a short call are not stored and loaded on their way.
template <class Make>
[[gnu::always_inline]] inline int run_collective(Process& p, Comm& comm, const char* name, Make&& make) {
  Schedule schedule(p, comm, name);
  schedule.at_once();
  if (int code = make(schedule)) return code;
  return schedule.run();
}

template <class Make>
int start_collective(Process& p, Comm& comm, const char* name, Request*& request, Make&& make) {
  auto made = std::make_unique<CollectiveRequest>(p, comm, name, *comm.group);
  if (int code = make(made->schedule)) return code;
  if (int code = made->schedule.start()) return code;
  request = made.release();
  return success;
}

// The list is made once; arrays among the arguments are not needed afterwards.
template <class Make>
int init_collective(Process& p, Comm& comm, const char* name, Request*& request, Make&& make) {
  Context context;
  if (int code = name_persistent(p, comm, name, context)) return code;
  auto made = std::make_unique<PersistentCollective>(p, comm, name, context);
  if (int code = make(made->schedule)) return code;
  request = made.release();
  return success;
}

}  // namespace hf::mpi
