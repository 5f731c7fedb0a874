// Process topologies (MPI 5.0, chapter 8): what a communicator knows of its ranks' neighbours. Made with the
// communicator, shared with its duplicates, never changed. Ranks are those of the communicator; none is reordered, so
// that the topology is a function of the calls alone (design rule 1).
#pragma once
#include <vector>

#include "mpi/object.hpp"

namespace hf::mpi {

class Process;
struct Comm;
struct Group;

struct Topology : Object {
  enum class Kind { cart, graph, dist_graph } kind = Kind::cart;

  // cart: row-major, the last dimension varies fastest
  std::vector<int> dims;
  std::vector<int> periods;  // 0 or 1

  // graph: `edges` of rank r end before index[r]
  std::vector<int> index, edges;
  bool symmetric = true;  // each edge has one back

  // The neighbours of this process in the order of the blocks in a neighbourhood collective (8.6); MPI_PROC_NULL at the
  // border of a grid. For cart and graph both are the same.
  std::vector<int> sources, destinations;
  // dist_graph only; empty when not weighted
  std::vector<int> source_weights, destination_weights;
  bool weighted = false;

  // The block that the n-th receive goes to, where the n-th block is the n-th to be sent, so that the two sides of a
  // pair with several edges agree: in a grid what is sent in the negative direction comes from the positive one, also
  // where both neighbours are one process (8.6, dimensions of one or two processes).
  std::size_t receive_slot(std::size_t n) const { return kind == Kind::cart ? n ^ 1 : n; }
};

// The topology, if it is of that kind; null with an explanation: return MPI_ERR_TOPOLOGY.
const Topology* topology_of(Process& p, const Comm& comm, Topology::Kind kind);

// How many neighbours this process has; 0 without a topology.
int out_degree(const Comm& comm);
int in_degree(const Comm& comm);

// MPI_ERR_COMM, with an explanation, for an intercommunicator, which can have no topology (8.4).
int check_intra(Process& p, const Comm& comm);

// The first n processes of the communicator, of which this one is; for graphs and grids smaller than it.
Group* first_members(const Comm& comm, int n);

}  // namespace hf::mpi
