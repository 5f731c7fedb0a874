// Graph topologies (MPI 5.0, 8.5.3, 8.5.5 and 8.5.8): every process knows the whole graph.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "mpi/api.hpp"
#include "mpi/comm_make.hpp"
#include "mpi/process.hpp"
#include "mpi/topology.hpp"

namespace hf::mpi {
namespace {

using Kind = Topology::Kind;

int check_graph(Process& p, const Comm& comm, int nnodes, const int* index, const int* edges) {
  if (int code = check_intra(p, comm)) return code;
  if (nnodes < 0) return p.explain(err_arg, fmt::format("nnodes is {}, it must not be negative", nnodes));
  if (nnodes > comm.size()) {
    return p.explain(err_arg,
                     fmt::format("the graph has {} nodes, the communicator {} processes", nnodes, comm.size()));
  }
  if (nnodes == 0) return success;
  if (!index) return p.explain(err_arg, "index is a null pointer");
  for (int i = 0; i < nnodes; ++i) {
    if (index[i] >= (i ? index[i - 1] : 0)) continue;
    return p.explain(err_arg, fmt::format("index[{}] is {}: it counts the edges up to that node and must not decrease",
                                          i, index[i]));
  }
  if (index[nnodes - 1] > 0 && !edges) return p.explain(err_arg, "edges is a null pointer");
  for (int i = 0; i < index[nnodes - 1]; ++i) {
    if (edges[i] >= 0 && edges[i] < nnodes) continue;
    return p.explain(err_arg, fmt::format("edges[{}] is {}, which is no node of the graph", i, edges[i]));
  }
  return success;
}

std::span<const int> edges_of(const Topology& graph, int rank) {
  const auto r = static_cast<std::size_t>(rank);
  const int first = r ? graph.index[r - 1] : 0;
  return std::span(graph.edges)
      .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(graph.index[r] - first));
}

// Whether each edge has one back, as often.
bool is_symmetric(const Topology& graph) {
  std::vector<std::pair<int, int>> there, back;
  for (int rank = 0; rank < static_cast<int>(graph.index.size()); ++rank) {
    for (int to : edges_of(graph, rank)) {
      there.emplace_back(rank, to);
      back.emplace_back(to, rank);
    }
  }
  std::ranges::sort(there);
  std::ranges::sort(back);
  return there == back;
}

int check_member(Process& p, const Comm& comm, int rank) {
  if (rank >= 0 && rank < comm.size()) return success;
  return p.explain(err_rank, fmt::format("rank {} is not in the graph", rank));
}

int check_room(Process& p, const char* what, int room, std::size_t wanted) {
  if (room >= 0 && static_cast<std::size_t>(room) >= wanted) return success;
  return p.explain(err_arg, fmt::format("there is room for {} {}, there are {}", room, what, wanted));
}

}  // namespace

int graph_create(Process& p, Comm& comm, int nnodes, const int* index, const int* edges, int, Comm*& newcomm) {
  newcomm = nullptr;
  if (int code = check_graph(p, comm, nnodes, index, edges)) return code;
  if (comm.rank() >= nnodes) return success;
  auto* graph = new Topology;
  graph->kind = Kind::graph;
  graph->index.assign(index, index + nnodes);
  graph->edges.assign(edges, edges + index[nnodes - 1]);
  graph->symmetric = is_symmetric(*graph);
  const auto own = edges_of(*graph, comm.rank());
  graph->sources.assign(own.begin(), own.end());
  graph->destinations = graph->sources;
  return make_comm(p, comm, first_members(comm, nnodes), graph, "Graph_create", newcomm);
}

int graphdims_get(Process& p, Comm& comm, int& nnodes, int& nedges) {
  const Topology* graph = topology_of(p, comm, Kind::graph);
  if (!graph) return err_topology;
  nnodes = static_cast<int>(graph->index.size());
  nedges = static_cast<int>(graph->edges.size());
  return success;
}

int graph_get(Process& p, Comm& comm, int maxindex, int maxedges, int* index, int* edges) {
  const Topology* graph = topology_of(p, comm, Kind::graph);
  if (!graph) return err_topology;
  if (int code = check_room(p, "nodes", maxindex, graph->index.size())) return code;
  if (int code = check_room(p, "edges", maxedges, graph->edges.size())) return code;
  if (!index || (!edges && !graph->edges.empty())) return p.explain(err_arg, "index or edges is a null pointer");
  std::ranges::copy(graph->index, index);
  std::ranges::copy(graph->edges, edges);
  return success;
}

int graph_neighbors_count(Process& p, Comm& comm, int rank, int& nneighbors) {
  const Topology* graph = topology_of(p, comm, Kind::graph);
  if (!graph) return err_topology;
  if (int code = check_member(p, comm, rank)) return code;
  nneighbors = static_cast<int>(edges_of(*graph, rank).size());
  return success;
}

int graph_neighbors(Process& p, Comm& comm, int rank, int maxneighbors, int* neighbors) {
  const Topology* graph = topology_of(p, comm, Kind::graph);
  if (!graph) return err_topology;
  if (int code = check_member(p, comm, rank)) return code;
  const auto found = edges_of(*graph, rank);
  if (int code = check_room(p, "neighbours", maxneighbors, found.size())) return code;
  if (!neighbors && !found.empty()) return p.explain(err_arg, "neighbors is a null pointer");
  std::ranges::copy(found, neighbors);
  return success;
}

// As MPI_Graph_create places the ranks: each where it is.
int graph_map(Process& p, Comm& comm, int nnodes, const int* index, const int* edges, int& newrank) {
  if (int code = check_graph(p, comm, nnodes, index, edges)) return code;
  newrank = comm.rank() < nnodes ? comm.rank() : undefined;
  return success;
}

}  // namespace hf::mpi
