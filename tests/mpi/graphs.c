/* Graph and distributed graph topologies (MPI 5.0, 8.5.3 and 8.5.4). */
#include "check.h"

#define MAX_EDGES 1024

/* Not objects: out of the sight of a compiler that would look whether they are as long as an array. */
static int* volatile unweighted = MPI_UNWEIGHTED;
static int* volatile weights_empty = MPI_WEIGHTS_EMPTY;

static int comm_size(MPI_Comm comm) {
  int size;
  OK(MPI_Comm_size(comm, &size));
  return size;
}

/* A star with a ring round it; node 0 has an edge to itself, and if there are nodes for it two edges to node 1. */
static int star(int nodes, int* index, int* edges) {
  int n = 0;
  for (int r = 0; r < nodes; ++r) {
    edges[n++] = (r + 1) % nodes;
    edges[n++] = (r + nodes - 1) % nodes;
    if (r == 0) {
      edges[n++] = 0;
      for (int i = 1; i < nodes; ++i) edges[n++] = i;
    } else {
      edges[n++] = 0;
    }
    index[r] = n;
  }
  return n;
}

static void check_star(MPI_Comm graph, int nodes) {
  int index[64], edges[MAX_EDGES], got_index[64], got_edges[MAX_EDGES], n, m, status;
  const int count = star(nodes, index, edges);
  OK(MPI_Topo_test(graph, &status));
  CHECK_INT(MPI_GRAPH, status);
  OK(MPI_Graphdims_get(graph, &n, &m));
  CHECK_INT(nodes, n);
  CHECK_INT(count, m);
  OK(MPI_Graph_get(graph, nodes, count, got_index, got_edges));
  for (int i = 0; i < nodes; ++i) CHECK_INT(index[i], got_index[i]);
  for (int i = 0; i < count; ++i) CHECK_INT(edges[i], got_edges[i]);
  for (int r = 0; r < nodes; ++r) {
    const int first = r ? index[r - 1] : 0;
    OK(MPI_Graph_neighbors_count(graph, r, &n));
    CHECK_INT(index[r] - first, n);
    OK(MPI_Graph_neighbors(graph, r, n, got_edges));
    for (int i = 0; i < n; ++i) CHECK_INT(edges[first + i], got_edges[i]);
  }
}

static void graphs(void) {
  for (int nodes = world_size; nodes >= 0 && nodes > world_size - 3; --nodes) {
    int index[64], edges[MAX_EDGES], rank, place;
    MPI_Comm graph, copy;
    if (nodes) star(nodes, index, edges);
    OK(MPI_Graph_create(MPI_COMM_WORLD, nodes, index, edges, nodes % 2, &graph));
    OK(MPI_Graph_map(MPI_COMM_WORLD, nodes, index, edges, &place));
    CHECK_INT(world_rank >= nodes, graph == MPI_COMM_NULL);
    CHECK_INT(world_rank >= nodes, place == MPI_UNDEFINED);
    if (graph == MPI_COMM_NULL) continue;
    OK(MPI_Comm_rank(graph, &rank));
    CHECK_INT(nodes, comm_size(graph));
    check_star(graph, nodes);
    OK(MPI_Comm_dup(graph, &copy));
    OK(MPI_Comm_free(&graph));
    check_star(copy, nodes);
    OK(MPI_Comm_free(&copy));
  }
}

/* Each rank has edges to the `fan` ranks after it (again and again when there are fewer), with weights by source and place. */
static int weight_of(int source, int i) { return source * 10 + i; }

static void check_fan(MPI_Comm graph, int fan, int weighted, int any_order) {
  int in, out, has_weights, status, size = comm_size(graph), rank, count = 0;
  int sources[MAX_EDGES], source_weights[MAX_EDGES], destinations[MAX_EDGES], weights[MAX_EDGES];
  OK(MPI_Comm_rank(graph, &rank));
  OK(MPI_Topo_test(graph, &status));
  CHECK_INT(MPI_DIST_GRAPH, status);
  OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &has_weights));
  CHECK_INT(fan, in);
  CHECK_INT(fan, out);
  CHECK_INT(weighted, has_weights != 0);
  memset(source_weights, -1, sizeof source_weights);
  memset(weights, -1, sizeof weights);
  OK(MPI_Dist_graph_neighbors(graph, in, sources, source_weights, out, destinations, weights));
  for (int i = 0; i < fan; ++i) {
    int found = 0;
    if (any_order) {
      for (int j = 0; j < fan; ++j) {
        found += destinations[j] == (rank + i) % size && (!weighted || weights[j] == weight_of(rank, i));
        count += sources[j] == (rank - i % size + size) % size && (!weighted || source_weights[j] == weight_of(sources[j], i));
      }
      CHECK(found >= 1);
      continue;
    }
    CHECK_INT((rank + i) % size, destinations[i]);
    CHECK_INT((rank - i % size + size) % size, sources[i]);
    CHECK_INT(weighted ? weight_of(rank, i) : -1, weights[i]);
    CHECK_INT(weighted ? weight_of(sources[i], i) : -1, source_weights[i]);
  }
  CHECK(!any_order || count >= fan);
  if (fan > 0) { /* less room than neighbours: the first of them */
    int first[2] = {-1, -1};
    OK(MPI_Dist_graph_neighbors(graph, 1, first, unweighted, 0, NULL, unweighted));
    CHECK_INT(sources[0], first[0]);
    CHECK_INT(-1, first[1]);
  }
}

static void adjacent(void) {
  for (int fan = 0; fan <= 5; ++fan) {
    for (int weighted = 0; weighted < 2; ++weighted) {
      int sources[8], destinations[8], in_weights[8], out_weights[8];
      for (int i = 0; i < fan; ++i) {
        destinations[i] = (world_rank + i) % world_size;
        sources[i] = (world_rank - i % world_size + world_size) % world_size;
        out_weights[i] = weight_of(world_rank, i);
        in_weights[i] = weight_of(sources[i], i);
      }
      MPI_Comm graph, copy;
      OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, fan, sources, !weighted ? unweighted : fan ? in_weights : weights_empty,
                                        fan, destinations, !weighted ? unweighted : fan ? out_weights : weights_empty,
                                        MPI_INFO_NULL, fan % 2, &graph));
      check_fan(graph, fan, weighted, 0);
      OK(MPI_Comm_dup(graph, &copy));
      OK(MPI_Comm_free(&graph));
      check_fan(copy, fan, weighted, 0);
      OK(MPI_Comm_free(&copy));
    }
  }
}

/* The same graph, told by rank 0 alone, by each for itself, and by each for the next. */
static void created(void) {
  for (int fan = 0; fan <= 5; ++fan) {
    for (int way = 0; way < 6; ++way) {
      int sources[64], degrees[64], destinations[MAX_EDGES], weights[MAX_EDGES], n = 0, edges = 0;
      const int weighted = way / 3, teller = way % 3;
      for (int r = 0; r < world_size; ++r) {
        const int mine = teller == 0 ? world_rank == 0 : r == (world_rank + teller - 1) % world_size;
        if (!mine) continue;
        sources[n] = r;
        degrees[n++] = fan;
        for (int i = 0; i < fan; ++i) {
          destinations[edges] = (r + i) % world_size;
          weights[edges++] = weight_of(r, i);
        }
      }
      MPI_Comm graph;
      OK(MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, degrees, destinations,
                               !weighted ? unweighted : edges ? weights : weights_empty, MPI_INFO_NULL, way % 2, &graph));
      check_fan(graph, fan, weighted, 1);
      OK(MPI_Comm_free(&graph));
    }
  }
}

static void errors(void) {
  MPI_Comm comm, graph, made;
  int index[64], edges[MAX_EDGES], n, m, flag, bad = world_size, zero = 0, one = 1, minus = -1;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  star(world_size, index, edges);
  OK(MPI_Graph_create(comm, world_size, index, edges, 0, &graph));
  FAILS(MPI_ERR_ARG, MPI_Graph_create(comm, world_size + 1, index, edges, 0, &made));
  FAILS(MPI_ERR_ARG, MPI_Graph_create(comm, -1, index, edges, 0, &made));
  edges[0] = world_size;
  FAILS(MPI_ERR_ARG, MPI_Graph_create(comm, world_size, index, edges, 0, &made));
  FAILS(MPI_ERR_RANK, MPI_Graph_neighbors_count(graph, world_size, &n));
  FAILS(MPI_ERR_ARG, MPI_Graph_neighbors(graph, 0, 0, edges));
  FAILS(MPI_ERR_ARG, MPI_Graph_get(graph, world_size, 0, index, edges));
  FAILS(MPI_ERR_TOPOLOGY, MPI_Cartdim_get(graph, &n));
  FAILS(MPI_ERR_TOPOLOGY, MPI_Dist_graph_neighbors_count(graph, &n, &m, &flag));
  FAILS(MPI_ERR_TOPOLOGY, MPI_Graphdims_get(comm, &n, &m));
  FAILS(MPI_ERR_TOPOLOGY, MPI_Neighbor_allgather(&n, 1, MPI_INT, edges, 1, MPI_INT, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Neighbor_alltoall(MPI_IN_PLACE, 1, MPI_INT, edges, 1, MPI_INT, graph));
  FAILS(MPI_ERR_COUNT, MPI_Neighbor_alltoall(edges, 1, MPI_INT, edges, -1, MPI_INT, graph));
  FAILS(MPI_ERR_RANK, MPI_Dist_graph_create_adjacent(comm, 1, &bad, unweighted, 0, NULL, unweighted, MPI_INFO_NULL,
                                                     0, &made));
  FAILS(MPI_ERR_ARG, MPI_Dist_graph_create_adjacent(comm, 1, &zero, &minus, 0, NULL, weights_empty, MPI_INFO_NULL, 0, &made));
  FAILS(MPI_ERR_ARG, MPI_Dist_graph_create_adjacent(comm, 1, &zero, weights_empty, 0, NULL, weights_empty,
                                                    MPI_INFO_NULL, 0, &made));
  FAILS(MPI_ERR_RANK, MPI_Dist_graph_create(comm, 1, &zero, &one, &bad, unweighted, MPI_INFO_NULL, 0, &made));
  FAILS(MPI_ERR_ARG, MPI_Dist_graph_create(comm, 1, &zero, &minus, &zero, unweighted, MPI_INFO_NULL, 0, &made));
  if (world_size > 1) { /* a directed ring, which as a graph has no neighbourhood collectives */
    for (int r = 0; r < world_size; ++r) index[r] = r + 1, edges[r] = (r + 1) % world_size;
    MPI_Comm ring;
    OK(MPI_Graph_create(comm, world_size, index, edges, 0, &ring));
    if (world_size > 2) FAILS(MPI_ERR_TOPOLOGY, MPI_Neighbor_allgather(&n, 1, MPI_INT, edges, 1, MPI_INT, ring));
    OK(MPI_Comm_free(&ring));
  }
  OK(MPI_Comm_free(&graph));
  OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  graphs();
  adjacent();
  created();
  errors();
  return end();
}
