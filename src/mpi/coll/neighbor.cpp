// Neighbourhood collectives (MPI 5.0, 8.6 and 8.7): one block to each neighbour and one from each, straight. The
// messages between two processes with several edges are listed in the same order on both sides
// (Topology::receive_slot).
#include <fmt/format.h>

#include "mpi/api.hpp"
#include "mpi/coll/blocks.hpp"
#include "mpi/coll/check.hpp"
#include "mpi/coll/run.hpp"
#include "mpi/topology.hpp"

namespace hf::mpi {
namespace {

using Types = std::span<Datatype* const>;

int check_neighborhood(Process& p, const Comm& comm) {
  if (!comm.topology)
    return p.explain(err_topology, "the communicator has no topology, and so this process no neighbours");
  if (comm.topology->symmetric) return success;
  return p.explain(err_topology, "the graph is not symmetric: a process would wait for one that does not send to it");
}

// Blocks in the order of the neighbours. What a process sends to itself is copied.
void list_neighbors(Schedule& s, const Topology& topology, const Part* out, const Part* in) {
  const int self = s.rank();
  const auto incoming = topology.sources.size(), outgoing = topology.destinations.size();
  auto** mine = s.array<const Part*>(static_cast<int>(incoming));
  std::size_t own = 0, copied = 0;
  for (std::size_t n = 0; n < incoming; ++n) {
    const std::size_t slot = topology.receive_slot(n);
    const int from = topology.sources[slot];
    if (from == self)
      mine[own++] = &in[slot];
    else if (from != proc_null && in[slot].bytes)
      s.recv(from, in[slot]);
  }
  for (std::size_t n = 0; n < outgoing; ++n) {
    const int to = topology.destinations[n];
    if (to != self && to != proc_null && out[n].bytes) s.send(to, out[n]);
  }
  for (std::size_t n = 0; n < outgoing && copied < own; ++n) {
    if (topology.destinations[n] == self) s.copy(out[n], *mine[copied++]);
  }
}

int check_sender(Process& p, const void* buffer, Count count, const Datatype& type, int blocks) {
  if (int code = check_in_place(p, "send", buffer)) return code;
  return check_blocks(p, "send", buffer, count, type, blocks);
}

int check_receiver(Process& p, const void* buffer, Count count, const Datatype& type, int blocks) {
  if (int code = check_in_place(p, "receive", buffer)) return code;
  return check_blocks(p, "receive", buffer, count, type, blocks);
}

int check_receivers(Process& p, const void* buffer, const CountArray& counts, const CountArray& displs,
                    const Datatype& type, int blocks) {
  if (int code = check_in_place(p, "receive", buffer)) return code;
  return check_vector(p, "receive", buffer, counts, displs, type, blocks, "neighbour");
}

// The same block to every neighbour.
const Part* repeated(Schedule& s, const void* buffer, Count count, const Datatype& type, int n) {
  auto* blocks = s.array<Part>(n);
  for (int i = 0; i < n; ++i) blocks[i] = Part::of(buffer, count, type);
  return blocks;
}

int make_allgather(Process& p, Schedule& s, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                   Count recvcount, Datatype& recvtype, Comm& comm) {
  if (int code = check_neighborhood(p, comm)) return code;
  const int sources = in_degree(comm), destinations = out_degree(comm);
  if (int code = check_sender(p, sendbuf, sendcount, sendtype, destinations > 0)) return code;
  if (int code = check_receiver(p, recvbuf, recvcount, recvtype, sources)) return code;
  s.keep(sendtype);
  s.keep(recvtype);
  const Part* in = uniform_blocks(s, recvbuf, recvcount, recvtype, sources);
  list_neighbors(s, *comm.topology, repeated(s, sendbuf, sendcount, sendtype, destinations), in);
  return success;
}

int make_allgatherv(Process& p, Schedule& s, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                    CountArray recvcounts, CountArray displs, Datatype& recvtype, Comm& comm) {
  if (int code = check_neighborhood(p, comm)) return code;
  const int sources = in_degree(comm), destinations = out_degree(comm);
  if (int code = check_sender(p, sendbuf, sendcount, sendtype, destinations > 0)) return code;
  if (int code = check_receivers(p, recvbuf, recvcounts, displs, recvtype, sources)) return code;
  s.keep(sendtype);
  s.keep(recvtype);
  const Part* in = vector_blocks(s, recvbuf, recvcounts, displs, recvtype, sources);
  list_neighbors(s, *comm.topology, repeated(s, sendbuf, sendcount, sendtype, destinations), in);
  return success;
}

int make_alltoall(Process& p, Schedule& s, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                  Count recvcount, Datatype& recvtype, Comm& comm) {
  if (int code = check_neighborhood(p, comm)) return code;
  const int sources = in_degree(comm), destinations = out_degree(comm);
  if (int code = check_sender(p, sendbuf, sendcount, sendtype, destinations)) return code;
  if (int code = check_receiver(p, recvbuf, recvcount, recvtype, sources)) return code;
  s.keep(sendtype);
  s.keep(recvtype);
  const Part* in = uniform_blocks(s, recvbuf, recvcount, recvtype, sources);
  list_neighbors(s, *comm.topology, uniform_blocks(s, sendbuf, sendcount, sendtype, destinations), in);
  return success;
}

int make_alltoallv(Process& p, Schedule& s, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                   Datatype& sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls, Datatype& recvtype,
                   Comm& comm) {
  if (int code = check_neighborhood(p, comm)) return code;
  const int sources = in_degree(comm), destinations = out_degree(comm);
  if (int code = check_in_place(p, "send", sendbuf)) return code;
  if (int code = check_vector(p, "send", sendbuf, sendcounts, sdispls, sendtype, destinations, "neighbour"))
    return code;
  if (int code = check_receivers(p, recvbuf, recvcounts, rdispls, recvtype, sources)) return code;
  s.keep(sendtype);
  s.keep(recvtype);
  const Part* in = vector_blocks(s, recvbuf, recvcounts, rdispls, recvtype, sources);
  list_neighbors(s, *comm.topology, vector_blocks(s, sendbuf, sendcounts, sdispls, sendtype, destinations), in);
  return success;
}

// Displacements in bytes, also in the form with int counts.
int make_alltoallw(Process& p, Schedule& s, const void* sendbuf, CountArray sendcounts, const Count* sdispls,
                   Types sendtypes, void* recvbuf, CountArray recvcounts, const Count* rdispls, Types recvtypes,
                   Comm& comm) {
  Part *in = nullptr, *out = nullptr;
  if (int code = check_neighborhood(p, comm)) return code;
  if (int code = check_in_place(p, "send", sendbuf)) return code;
  if (int code = check_in_place(p, "receive", recvbuf)) return code;
  if (int code =
          typed_blocks(p, s, "send", sendbuf, sendcounts, CountArray(sdispls), sendtypes, out_degree(comm), out)) {
    return code;
  }
  if (int code =
          typed_blocks(p, s, "receive", recvbuf, recvcounts, CountArray(rdispls), recvtypes, in_degree(comm), in)) {
    return code;
  }
  list_neighbors(s, *comm.topology, out, in);
  return success;
}

}  // namespace

int neighbor_allgather(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                       Count recvcount, Datatype& recvtype, Comm& comm) {
  return run_collective(p, comm, "Neighbor_allgather", [&](Schedule& s) {
    return make_allgather(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  });
}

int ineighbor_allgather(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                        Count recvcount, Datatype& recvtype, Comm& comm, Request*& request) {
  return start_collective(p, comm, "Ineighbor_allgather", request, [&](Schedule& s) {
    return make_allgather(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  });
}

int neighbor_allgather_init(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                            Count recvcount, Datatype& recvtype, Comm& comm, Info*, Request*& request) {
  return init_collective(p, comm, "Neighbor_allgather_init", request, [&](Schedule& s) {
    return make_allgather(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  });
}

int neighbor_allgatherv(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                        CountArray recvcounts, CountArray displs, Datatype& recvtype, Comm& comm) {
  return run_collective(p, comm, "Neighbor_allgatherv", [&](Schedule& s) {
    return make_allgatherv(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
  });
}

int ineighbor_allgatherv(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                         CountArray recvcounts, CountArray displs, Datatype& recvtype, Comm& comm, Request*& request) {
  return start_collective(p, comm, "Ineighbor_allgatherv", request, [&](Schedule& s) {
    return make_allgatherv(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
  });
}

int neighbor_allgatherv_init(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                             CountArray recvcounts, CountArray displs, Datatype& recvtype, Comm& comm, Info*,
                             Request*& request) {
  return init_collective(p, comm, "Neighbor_allgatherv_init", request, [&](Schedule& s) {
    return make_allgatherv(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
  });
}

int neighbor_alltoall(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                      Count recvcount, Datatype& recvtype, Comm& comm) {
  return run_collective(p, comm, "Neighbor_alltoall", [&](Schedule& s) {
    return make_alltoall(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  });
}

int ineighbor_alltoall(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                       Count recvcount, Datatype& recvtype, Comm& comm, Request*& request) {
  return start_collective(p, comm, "Ineighbor_alltoall", request, [&](Schedule& s) {
    return make_alltoall(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  });
}

int neighbor_alltoall_init(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                           Count recvcount, Datatype& recvtype, Comm& comm, Info*, Request*& request) {
  return init_collective(p, comm, "Neighbor_alltoall_init", request, [&](Schedule& s) {
    return make_alltoall(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  });
}

int neighbor_alltoallv(Process& p, const void* sendbuf, CountArray sendcounts, CountArray sdispls, Datatype& sendtype,
                       void* recvbuf, CountArray recvcounts, CountArray rdispls, Datatype& recvtype, Comm& comm) {
  return run_collective(p, comm, "Neighbor_alltoallv", [&](Schedule& s) {
    return make_alltoallv(p, s, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
  });
}

int ineighbor_alltoallv(Process& p, const void* sendbuf, CountArray sendcounts, CountArray sdispls, Datatype& sendtype,
                        void* recvbuf, CountArray recvcounts, CountArray rdispls, Datatype& recvtype, Comm& comm,
                        Request*& request) {
  return start_collective(p, comm, "Ineighbor_alltoallv", request, [&](Schedule& s) {
    return make_alltoallv(p, s, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
  });
}

int neighbor_alltoallv_init(Process& p, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                            Datatype& sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls,
                            Datatype& recvtype, Comm& comm, Info*, Request*& request) {
  return init_collective(p, comm, "Neighbor_alltoallv_init", request, [&](Schedule& s) {
    return make_alltoallv(p, s, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
  });
}

int neighbor_alltoallw(Process& p, const void* sendbuf, CountArray sendcounts, const Count* sdispls, Types sendtypes,
                       void* recvbuf, CountArray recvcounts, const Count* rdispls, Types recvtypes, Comm& comm) {
  return run_collective(p, comm, "Neighbor_alltoallw", [&](Schedule& s) {
    return make_alltoallw(p, s, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm);
  });
}

int ineighbor_alltoallw(Process& p, const void* sendbuf, CountArray sendcounts, const Count* sdispls, Types sendtypes,
                        void* recvbuf, CountArray recvcounts, const Count* rdispls, Types recvtypes, Comm& comm,
                        Request*& request) {
  return start_collective(p, comm, "Ineighbor_alltoallw", request, [&](Schedule& s) {
    return make_alltoallw(p, s, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm);
  });
}

int neighbor_alltoallw_init(Process& p, const void* sendbuf, CountArray sendcounts, const Count* sdispls,
                            Types sendtypes, void* recvbuf, CountArray recvcounts, const Count* rdispls,
                            Types recvtypes, Comm& comm, Info*, Request*& request) {
  return init_collective(p, comm, "Neighbor_alltoallw_init", request, [&](Schedule& s) {
    return make_alltoallw(p, s, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm);
  });
}

}  // namespace hf::mpi
