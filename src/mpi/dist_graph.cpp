// Distributed graph topologies (MPI 5.0, 8.5.4 and 8.5.5): each process knows its own edges.
#include <fmt/format.h>

#include <algorithm>

#include "mpi/api.hpp"
#include "mpi/coll/algorithms.hpp"
#include "mpi/coll/run.hpp"
#include "mpi/comm_make.hpp"
#include "mpi/process.hpp"
#include "mpi/topology.hpp"

namespace hf::mpi {
namespace {

using Kind = Topology::Kind;

// What this process is told about one of its edges, in a message.
struct End {
  std::int32_t neighbor = 0;
  std::int32_t weight = 0;
};

// Of a process: the edges that leave it, and those that come to it.
struct Ends {
  std::vector<End> out, in;
};

int check_ranks(Process& p, const Comm& comm, const char* name, Count n, const int* ranks) {
  if (n < 0) return p.explain(err_arg, fmt::format("the number of {} is {}, it must not be negative", name, n));
  if (n > 0 && !ranks) return p.explain(err_arg, fmt::format("{} is a null pointer", name));
  for (Count i = 0; i < n; ++i) {
    if (ranks[i] >= 0 && ranks[i] < comm.size()) continue;
    return p.explain(err_rank, fmt::format("{}[{}] is {}, which is no rank of the communicator", name, i, ranks[i]));
  }
  return success;
}

int check_weights(Process& p, const char* name, Count n, const int* weights) {
  if (n == 0 || weights == unweighted) return success;
  if (!weights || weights == weights_empty) {
    return p.explain(err_arg,
                     fmt::format("{} is {} for {} edges", name, weights ? "MPI_WEIGHTS_EMPTY" : "a null pointer", n));
  }
  for (Count i = 0; i < n; ++i) {
    if (weights[i] < 0)
      return p.explain(err_arg, fmt::format("{}[{}] is {}, it must not be negative", name, i, weights[i]));
  }
  return success;
}

// All processes of comm, with edges that each knows by now.
int make_dist_graph(Process& p, Comm& comm, Topology* graph, const char* name, Comm*& newcomm) {
  graph->kind = Kind::dist_graph;
  return make_comm(p, comm, first_members(comm, comm.size()), graph, name, newcomm);
}

// Every process has edges for others: each is told the number of its own, then the edges, those told by lower ranks
// first. Both ends of a pair's edges come in the same order.
int tell_ends(Process& p, Comm& comm, const std::vector<Ends>& told, Ends& own) {
  struct Counts {
    std::int64_t out = 0, in = 0;
  };
  const auto size = static_cast<std::size_t>(comm.size());
  std::vector<Counts> to(size), from(size);
  for (std::size_t r = 0; r < size; ++r) {
    to[r] = {static_cast<std::int64_t>(told[r].out.size()), static_cast<std::int64_t>(told[r].in.size())};
  }
  int code = run_collective(p, comm, "Dist_graph_create", [&](Schedule& s) {
    auto *sent = s.array<Part>(comm.size()), *received = s.array<Part>(comm.size());
    for (std::size_t r = 0; r < size; ++r) {
      sent[r] = Part::raw(&to[r], sizeof(Counts));
      received[r] = Part::raw(&from[r], sizeof(Counts));
    }
    list_alltoall(s, sent, received, sizeof(Counts));
    return success;
  });
  if (code) return code;
  std::size_t out = 0, in = 0;
  for (const Counts& counts : from) {
    out += static_cast<std::size_t>(counts.out);
    in += static_cast<std::size_t>(counts.in);
  }
  own.out.resize(out);
  own.in.resize(in);
  auto exchange = [&](std::vector<End> Ends::*side, std::int64_t Counts::*count) {
    return run_collective(p, comm, "Dist_graph_create", [&](Schedule& s) {
      auto *sent = s.array<Part>(comm.size()), *received = s.array<Part>(comm.size());
      End* place = (own.*side).data();
      for (std::size_t r = 0; r < size; ++r) {
        const auto& list = told[r].*side;
        const auto n = static_cast<std::size_t>(from[r].*count);
        sent[r] = Part::raw(const_cast<End*>(list.data()), list.size() * sizeof(End));
        received[r] = Part::raw(place, n * sizeof(End));
        place += n;
      }
      list_exchange(s, sent, received);
      return success;
    });
  };
  if ((code = exchange(&Ends::out, &Counts::out))) return code;
  return exchange(&Ends::in, &Counts::in);
}

void take(const std::vector<End>& ends, std::vector<int>& ranks, std::vector<int>& weights, bool weighted) {
  for (const End& end : ends) {
    ranks.push_back(end.neighbor);
    if (weighted) weights.push_back(end.weight);
  }
}

// The first `room` neighbours; weights where there are any and the program wants them.
void give(const std::vector<int>& ranks, const std::vector<int>& weights, int room, int* to, int* weights_to) {
  const auto n = std::min(ranks.size(), static_cast<std::size_t>(std::max(room, 0)));
  std::copy_n(ranks.begin(), n, to);
  if (weights_to == unweighted || weights_to == weights_empty || !weights_to) return;
  std::copy_n(weights.begin(), std::min(n, weights.size()), weights_to);
}

}  // namespace

int dist_graph_create_adjacent(Process& p, Comm& comm, int indegree, const int* sources, const int* sourceweights,
                               int outdegree, const int* destinations, const int* destweights, Info*, int,
                               Comm*& newcomm) {
  newcomm = nullptr;
  if (int code = check_intra(p, comm)) return code;
  if (int code = check_ranks(p, comm, "sources", indegree, sources)) return code;
  if (int code = check_ranks(p, comm, "destinations", outdegree, destinations)) return code;
  if (int code = check_weights(p, "sourceweights", indegree, sourceweights)) return code;
  if (int code = check_weights(p, "destweights", outdegree, destweights)) return code;
  if ((sourceweights == unweighted) != (destweights == unweighted)) {
    return p.explain(err_arg, "one of sourceweights and destweights is MPI_UNWEIGHTED, the other is not");
  }
  auto* graph = new Topology;
  graph->weighted = sourceweights != unweighted;
  graph->sources.assign(sources, sources + indegree);
  graph->destinations.assign(destinations, destinations + outdegree);
  if (graph->weighted && indegree) graph->source_weights.assign(sourceweights, sourceweights + indegree);
  if (graph->weighted && outdegree) graph->destination_weights.assign(destweights, destweights + outdegree);
  return make_dist_graph(p, comm, graph, "Dist_graph_create_adjacent", newcomm);
}

int dist_graph_create(Process& p, Comm& comm, int n, const int* sources, const int* degrees, const int* destinations,
                      const int* weights, Info*, int, Comm*& newcomm) {
  newcomm = nullptr;
  if (int code = check_intra(p, comm)) return code;
  if (int code = check_ranks(p, comm, "sources", n, sources)) return code;
  if (n > 0 && !degrees) return p.explain(err_arg, "degrees is a null pointer");
  Count edges = 0;
  for (int i = 0; i < n; ++i) {
    if (degrees[i] < 0)
      return p.explain(err_arg, fmt::format("degrees[{}] is {}, it must not be negative", i, degrees[i]));
    edges += degrees[i];
  }
  if (int code = check_ranks(p, comm, "destinations", edges, destinations)) return code;
  if (int code = check_weights(p, "weights", edges, weights)) return code;
  const bool weighted = weights != unweighted;
  std::vector<Ends> told(static_cast<std::size_t>(comm.size()));
  Count at = 0;
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < degrees[i]; ++k, ++at) {
      const int weight = weighted ? weights[at] : 0;
      told[static_cast<std::size_t>(sources[i])].out.push_back({destinations[at], weight});
      told[static_cast<std::size_t>(destinations[at])].in.push_back({sources[i], weight});
    }
  }
  Ends own;
  if (int code = tell_ends(p, comm, told, own)) return code;
  auto* graph = new Topology;
  graph->weighted = weighted;
  take(own.in, graph->sources, graph->source_weights, weighted);
  take(own.out, graph->destinations, graph->destination_weights, weighted);
  return make_dist_graph(p, comm, graph, "Dist_graph_create", newcomm);
}

int dist_graph_neighbors_count(Process& p, Comm& comm, int& indegree, int& outdegree, int& weighted) {
  const Topology* graph = topology_of(p, comm, Kind::dist_graph);
  if (!graph) return err_topology;
  indegree = in_degree(comm);
  outdegree = out_degree(comm);
  weighted = graph->weighted;
  return success;
}

int dist_graph_neighbors(Process& p, Comm& comm, int maxindegree, int* sources, int* sourceweights, int maxoutdegree,
                         int* destinations, int* destweights) {
  const Topology* graph = topology_of(p, comm, Kind::dist_graph);
  if (!graph) return err_topology;
  if (maxindegree < 0 || maxoutdegree < 0) return p.explain(err_arg, "maxindegree or maxoutdegree is negative");
  if ((!sources && maxindegree && in_degree(comm)) || (!destinations && maxoutdegree && out_degree(comm))) {
    return p.explain(err_arg, "sources or destinations is a null pointer");
  }
  give(graph->sources, graph->source_weights, maxindegree, sources, sourceweights);
  give(graph->destinations, graph->destination_weights, maxoutdegree, destinations, destweights);
  return success;
}

}  // namespace hf::mpi
