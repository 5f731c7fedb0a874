#include "mpi/topology.hpp"

#include <fmt/format.h>

#include "mpi/api.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

constexpr int cart_value = 211, graph_value = 212, dist_graph_value = 213;

const char* noun(Topology::Kind kind) {
  switch (kind) {
    case Topology::Kind::cart:
      return "Cartesian";
    case Topology::Kind::graph:
      return "graph";
    case Topology::Kind::dist_graph:
      return "distributed graph";
  }
  return "";
}

}  // namespace

const Topology* topology_of(Process& p, const Comm& comm, Topology::Kind kind) {
  if (comm.topology && comm.topology->kind == kind) return comm.topology;
  p.explain(err_topology,
            fmt::format("the communicator has {} topology, this needs a {} one",
                        comm.topology ? fmt::format("a {}", noun(comm.topology->kind)) : "no", noun(kind)));
  return nullptr;
}

int check_intra(Process& p, const Comm& comm) {
  if (!comm.is_inter()) return success;
  return p.explain(err_comm, "an intercommunicator can have no topology");
}

int out_degree(const Comm& comm) {
  return comm.topology ? static_cast<int>(comm.topology->destinations.size()) : 0;
}
int in_degree(const Comm& comm) {
  return comm.topology ? static_cast<int>(comm.topology->sources.size()) : 0;
}

Group* first_members(const Comm& comm, int n) {
  Group* group = new_group(*comm.group);
  group->members.assign(comm.group->members.begin(), comm.group->members.begin() + n);
  group->self = comm.rank();
  return group;
}

int topo_test(Process&, Comm& comm, int& status) {
  status = undefined;
  if (!comm.topology) return success;
  switch (comm.topology->kind) {
    case Topology::Kind::cart:
      status = cart_value;
      break;
    case Topology::Kind::graph:
      status = graph_value;
      break;
    case Topology::Kind::dist_graph:
      status = dist_graph_value;
      break;
  }
  return success;
}

}  // namespace hf::mpi
