// How the calls of collectives become schedules: the blocking form runs it, the non-blocking form gives a request. `make`
// checks the arguments, then lists the steps; it returns an error code and has reserved no message number when it fails.
#pragma once
#include <memory>

#include "mpi/coll/schedule.hpp"
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
  int finish(Process&, Status&) override { return schedule.error(); }
};

template <class Make>
int run_collective(Process& p, Comm& comm, const char* name, Make&& make) {
  Schedule schedule(p, comm, name);
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

}  // namespace hf::mpi
