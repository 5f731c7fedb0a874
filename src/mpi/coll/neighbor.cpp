// Neighbourhood collectives (MPI 5.0, 8.6 and 8.7): one block to each neighbour and one from each, straight. The messages
// between two processes with several edges are listed in the same order on both sides (Topology::receive_slot).
#include <fmt/format.h>

#include "mpi/api.hpp"
#include "mpi/coll/blocks.hpp"
#include "mpi/coll/check.hpp"
#include "mpi/coll/run.hpp"
#include "mpi/topology.hpp"

namespace hf::mpi {
namespace {

int check_neighborhood(Process& p, const Comm& comm) {
  if (!comm.topology) return p.explain(err_topology, "the communicator has no topology, and so this process no neighbours");
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
    if (from == self) mine[own++] = &in[slot];
    else if (from != proc_null && in[slot].bytes) s.recv(from, in[slot]);
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

}  // namespace

int neighbor_allgather(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
                       Datatype& recvtype, Comm& comm) {
  return run_collective(p, comm, "Neighbor_allgather", [&](Schedule& s) {
    return make_allgather(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  });
}

int ineighbor_allgather(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
                        Datatype& recvtype, Comm& comm, Request*& request) {
  return start_collective(p, comm, "Ineighbor_allgather", request, [&](Schedule& s) {
    return make_allgather(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  });
}

}  // namespace hf::mpi
