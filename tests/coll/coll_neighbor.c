/* Neighbourhood collectives (MPI 5.0, 8.6 to 8.8) on grids of all shapes, also with dimensions of one and two processes, and
 * on graphs with edges to oneself and several edges between two processes. */
#include "coll.h"

#define MAX_DEGREE 32

/* Not objects: out of the sight of a compiler that would look whether they are as long as an array. */
static int* volatile unweighted = MPI_UNWEIGHTED;

/* What this rank should find: from whom, and which of that one's blocks it is. */
static struct {
  MPI_Comm comm;
  int rank, in, out, source[MAX_DEGREE], destination[MAX_DEGREE], sent_as[MAX_DEGREE];
} hood;

/* Several edges of a pair are matched in their order (8.6). */
static void pair_up(void) {
  int size;
  OK(MPI_Comm_size(hood.comm, &size));
  int* all = malloc(sizeof(int) * MAX_DEGREE * size);
  for (int i = hood.out; i < MAX_DEGREE; ++i) hood.destination[i] = -100;
  OK(MPI_Allgather(hood.destination, MAX_DEGREE, MPI_INT, all, MAX_DEGREE, MPI_INT, hood.comm));
  for (int i = 0; i < hood.in; ++i) {
    int nth = 0, k = -1;
    for (int j = 0; j < i; ++j) nth += hood.source[j] == hood.source[i];
    for (int left = nth + 1; left > 0;) left -= all[hood.source[i] * MAX_DEGREE + ++k] == hood.rank;
    hood.sent_as[i] = k;
  }
  free(all);
}

/* In a grid what goes to the left comes from the right. */
static void take_grid(MPI_Comm grid, int ndims) {
  hood.comm = grid;
  OK(MPI_Comm_rank(grid, &hood.rank));
  hood.in = hood.out = 2 * ndims;
  for (int d = 0; d < ndims; ++d) OK(MPI_Cart_shift(grid, d, 1, &hood.source[2 * d], &hood.source[2 * d + 1]));
  for (int i = 0; i < hood.in; ++i) hood.destination[i] = hood.source[i], hood.sent_as[i] = i ^ 1;
}

static void take_graph(MPI_Comm graph) {
  hood.comm = graph;
  OK(MPI_Comm_rank(graph, &hood.rank));
  OK(MPI_Graph_neighbors_count(graph, hood.rank, &hood.in));
  OK(MPI_Graph_neighbors(graph, hood.rank, hood.in, hood.source));
  hood.out = hood.in;
  memcpy(hood.destination, hood.source, sizeof hood.source);
  pair_up();
}

static void take_dist_graph(MPI_Comm graph) {
  int weighted;
  hood.comm = graph;
  OK(MPI_Comm_rank(graph, &hood.rank));
  OK(MPI_Dist_graph_neighbors_count(graph, &hood.in, &hood.out, &weighted));
  OK(MPI_Dist_graph_neighbors(graph, hood.in, hood.source, unweighted, hood.out, hood.destination, unweighted));
  pair_up();
}

static void check_hood(const int* in, const int* place, const int* counts, int stride, int same_block, int line) {
  for (int i = 0; i < hood.in; ++i) {
    const int* block = in + (size_t)place[i] * stride;
    if (hood.source[i] == MPI_PROC_NULL) {
      for (int j = 0; j < counts[i] * stride; ++j) CHECK_INT(-1, block[j]);
    } else {
      check_block(block, counts[i], stride, hood.source[i], same_block ? 0 : hood.sent_as[i], line);
    }
  }
}

static void gather(int n, int with_gaps) {
  int stride, place[MAX_DEGREE], counts[MAX_DEGREE], displs[MAX_DEGREE], total = 0;
  MPI_Datatype type = layout(with_gaps, &stride);
  int *out = blank(n, stride), *in = blank(n * hood.in, stride);
  put(out, n, stride, hood.rank, 0);
  COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, out, n, type, in, n, type, hood.comm);
  for (int i = 0; i < hood.in; ++i) place[i] = i * n, counts[i] = n;
  check_hood(in, place, counts, stride, 1, __LINE__);
  free(in);
  for (int i = hood.in; i-- > 0; total += n + 3) displs[i] = total;
  in = blank(total, stride);
  COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, out, n, type, in, counts, displs, type, hood.comm);
  check_hood(in, displs, counts, stride, 1, __LINE__);
  free(in);
  free(out);
}

static void exchange(int n, int with_gaps) {
  int stride, place[MAX_DEGREE], counts[MAX_DEGREE];
  MPI_Datatype type = layout(with_gaps, &stride);
  int *out = blank(n * hood.out, stride), *in = blank(n * hood.in, stride);
  for (int i = 0; i < hood.out; ++i) put(out + (size_t)i * n * stride, n, stride, hood.rank, i);
  COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, out, n, type, in, n, type, hood.comm);
  for (int i = 0; i < hood.in; ++i) place[i] = i * n, counts[i] = n;
  check_hood(in, place, counts, stride, 0, __LINE__);
  free(in);
  free(out);
}

/* Other lengths on each edge, some of them 0; types and displacements in bytes besides. */
static int length(int n, int from, int block) { return (from + block) % 4 == 3 ? 0 : n + n / 8 * ((from + 2 * block) % 5); }

static void exchange_vector(int n, int with_gaps) {
  int stride, in_counts[MAX_DEGREE], in_displs[MAX_DEGREE], out_counts[MAX_DEGREE], out_displs[MAX_DEGREE], in_all = 0, out_all = 0;
  MPI_Aint in_bytes[MAX_DEGREE], out_bytes[MAX_DEGREE];
  MPI_Datatype type = layout(with_gaps, &stride), types[MAX_DEGREE];
  for (int i = 0; i < hood.out; ++i) {
    out_counts[i] = hood.destination[i] == MPI_PROC_NULL ? n : length(n, hood.rank, i);
    out_displs[i] = out_all;
    out_bytes[i] = (MPI_Aint)out_all * stride * (MPI_Aint)sizeof(int);
    out_all += out_counts[i] + 1;
  }
  for (int i = hood.in; i-- > 0;) {
    in_counts[i] = hood.source[i] == MPI_PROC_NULL ? n : length(n, hood.source[i], hood.sent_as[i]);
    in_displs[i] = in_all;
    in_bytes[i] = (MPI_Aint)in_all * stride * (MPI_Aint)sizeof(int);
    in_all += in_counts[i] + 2;
  }
  for (int i = 0; i < MAX_DEGREE; ++i) types[i] = type;
  int *out = blank(out_all, stride), *in = blank(in_all, stride);
  for (int i = 0; i < hood.out; ++i) put(out + (size_t)out_displs[i] * stride, out_counts[i], stride, hood.rank, i);
  COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, out, out_counts, out_displs, type, in, in_counts, in_displs, type,
             hood.comm);
  check_hood(in, in_displs, in_counts, stride, 0, __LINE__);
  memset(in, -1, sizeof(int) * (size_t)in_all * stride);
  COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, out, out_counts, out_bytes, types, in, in_counts, in_bytes, types,
             hood.comm);
  check_hood(in, in_displs, in_counts, stride, 0, __LINE__);
  free(in);
  free(out);
}

static void all_forms(void) {
  static const int lengths[] = {0, 7, 1031, 20011};
  for (int i = 0; i < 8; ++i) {
    gather(lengths[i / 2], i % 2);
    exchange(lengths[i / 2], i % 2);
    exchange_vector(lengths[i / 2], i % 2);
  }
}

static void on_grids(void) {
  for (int ndims = 1; ndims <= 3; ++ndims) {
    for (int wrap = 0; wrap < 1 << ndims; ++wrap) {
      int dims[3] = {0}, periods[3];
      OK(MPI_Dims_create(world_size, ndims, dims));
      for (int d = 0; d < ndims; ++d) periods[d] = wrap >> d & 1;
      MPI_Comm grid;
      OK(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &grid));
      take_grid(grid, ndims);
      if (wrap == (1 << ndims) - 1 || wrap == 1) all_forms();
      else exchange(5, 1);
      OK(MPI_Comm_free(&grid));
    }
  }
}

/* Everybody with everybody, itself included, and with the next twice. */
static void on_graph(void) {
  int index[64], *edges = malloc(sizeof(int) * 64 * 64), n = 0;
  const int nodes = world_size > 8 ? 8 : world_size;
  for (int r = 0; r < nodes; ++r) {
    for (int i = 0; i < nodes; ++i) edges[n++] = (r + i) % nodes;
    edges[n++] = (r + 1) % nodes;
    edges[n++] = (r + nodes - 1) % nodes;
    index[r] = n;
  }
  MPI_Comm graph;
  OK(MPI_Graph_create(MPI_COMM_WORLD, nodes, index, edges, 0, &graph));
  if (graph != MPI_COMM_NULL) {
    take_graph(graph);
    all_forms();
    OK(MPI_Comm_free(&graph));
  }
  free(edges);
}

/* Each sends to ranks at growing distance, to some several times; rank 0 tells the whole graph. */
static void on_dist_graph(void) {
  int sources[64], degrees[64], destinations[64 * 8], n = 0;
  if (world_rank == 0) {
    for (int r = 0; r < world_size; ++r) {
      sources[r] = r;
      degrees[r] = r % 4 + 2;
      for (int i = 0; i < degrees[r]; ++i) destinations[n++] = (r + i * i) % world_size;
    }
  }
  MPI_Comm graph;
  OK(MPI_Dist_graph_create(MPI_COMM_WORLD, world_rank == 0 ? world_size : 0, sources, degrees, destinations, unweighted,
                           MPI_INFO_NULL, 0, &graph));
  take_dist_graph(graph);
  CHECK(hood.in <= MAX_DEGREE);
  all_forms();
  OK(MPI_Comm_free(&graph));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  on_grids();
  on_graph();
  on_dist_graph();
  return end();
}
