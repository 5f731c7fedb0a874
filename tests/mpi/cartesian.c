/* Cartesian topologies (MPI 5.0, 8.5) against coordinates computed here. */
#include "check.h"

#define MAX_DIMS 4

/* Row-major coordinates. */
static void coordinates(int rank, int ndims, const int* dims, int* coords) {
  for (int d = ndims - 1; d >= 0; --d) coords[d] = rank % dims[d], rank /= dims[d];
}
static int rank_of(int ndims, const int* dims, const int* coords) {
  int rank = 0;
  for (int d = 0; d < ndims; ++d) rank = rank * dims[d] + coords[d];
  return rank;
}
static int shifted(int rank, int ndims, const int* dims, const int* periods, int d, int steps) {
  int coords[MAX_DIMS];
  coordinates(rank, ndims, dims, coords);
  int to = coords[d] + steps;
  if (!periods[d] && (to < 0 || to >= dims[d])) return MPI_PROC_NULL;
  coords[d] = ((to % dims[d]) + dims[d]) % dims[d];
  return rank_of(ndims, dims, coords);
}

static void check_grid(MPI_Comm grid, int ndims, const int* dims, const int* periods) {
  int rank, size, status, n, got_dims[MAX_DIMS], got_periods[MAX_DIMS], got[MAX_DIMS], expected[MAX_DIMS];
  OK(MPI_Comm_rank(grid, &rank));
  OK(MPI_Comm_size(grid, &size));
  OK(MPI_Topo_test(grid, &status));
  CHECK_INT(MPI_CART, status);
  OK(MPI_Cartdim_get(grid, &n));
  CHECK_INT(ndims, n);
  OK(MPI_Cart_get(grid, MAX_DIMS, got_dims, got_periods, got));
  coordinates(rank, ndims, dims, expected);
  for (int d = 0; d < ndims; ++d) {
    CHECK_INT(dims[d], got_dims[d]);
    CHECK_INT(periods[d], got_periods[d]);
    CHECK_INT(expected[d], got[d]);
  }
  for (int r = 0; r < size; ++r) {
    OK(MPI_Cart_coords(grid, r, ndims, got));
    coordinates(r, ndims, dims, expected);
    for (int d = 0; d < ndims; ++d) CHECK_INT(expected[d], got[d]);
    for (int d = 0; d < ndims; ++d) got[d] += periods[d] ? (d - 1) * 3 * dims[d] : 0; /* whole turns do not matter */
    OK(MPI_Cart_rank(grid, got, &n));
    CHECK_INT(r, n);
  }
  for (int d = 0; d < ndims; ++d) {
    for (int steps = -2 * dims[d] - 1; steps <= 2 * dims[d] + 1; ++steps) {
      int source, dest;
      OK(MPI_Cart_shift(grid, d, steps, &source, &dest));
      CHECK_INT(shifted(rank, ndims, dims, periods, d, -steps), source);
      CHECK_INT(shifted(rank, ndims, dims, periods, d, steps), dest);
    }
  }
}

static void check_slices(MPI_Comm grid, int ndims, const int* dims, const int* periods) {
  int rank, own[MAX_DIMS];
  OK(MPI_Comm_rank(grid, &rank));
  coordinates(rank, ndims, dims, own);
  for (int keep = 0; keep < 1 << ndims; ++keep) {
    int remain[MAX_DIMS], kept_dims[MAX_DIMS], kept_periods[MAX_DIMS], coords[MAX_DIMS], n = 0, sum = 0, size = 1;
    for (int d = 0; d < ndims; ++d) {
      remain[d] = keep >> d & 1;
      if (!remain[d]) continue;
      kept_dims[n] = dims[d], kept_periods[n] = periods[d], coords[n++] = own[d];
      size *= dims[d];
    }
    MPI_Comm slice;
    OK(MPI_Cart_sub(grid, remain, &slice));
    check_grid(slice, n, kept_dims, kept_periods);
    int slice_rank, slice_size, first = rank;
    OK(MPI_Comm_rank(slice, &slice_rank));
    OK(MPI_Comm_size(slice, &slice_size));
    CHECK_INT(rank_of(n, kept_dims, coords), slice_rank);
    CHECK_INT(size, slice_size);
    OK(MPI_Bcast(&first, 1, MPI_INT, 0, slice)); /* all in it agree in what was dropped */
    int expected[MAX_DIMS];
    for (int d = 0; d < ndims; ++d) expected[d] = remain[d] ? 0 : own[d];
    CHECK_INT(rank_of(ndims, dims, expected), first);
    OK(MPI_Allreduce(&slice_rank, &sum, 1, MPI_INT, MPI_SUM, slice));
    CHECK_INT(size * (size - 1) / 2, sum);
    OK(MPI_Comm_free(&slice));
  }
}

static void grids(void) {
  for (int ndims = 1; ndims <= MAX_DIMS; ++ndims) {
    for (int wrap = 0; wrap < 4; ++wrap) {
      int dims[MAX_DIMS] = {0}, periods[MAX_DIMS], rank, place;
      OK(MPI_Dims_create(world_size, ndims, dims));
      for (int d = 0; d < ndims; ++d) periods[d] = wrap >> (d % 2) & 1;
      MPI_Comm grid, copy;
      OK(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, wrap % 2, &grid));
      OK(MPI_Comm_rank(grid, &rank));
      OK(MPI_Cart_map(MPI_COMM_WORLD, ndims, dims, periods, &place));
      CHECK(place >= 0 && place < world_size);
      check_grid(grid, ndims, dims, periods);
      check_slices(grid, ndims, dims, periods);
      OK(MPI_Comm_dup(grid, &copy)); /* keeps the topology */
      check_grid(copy, ndims, dims, periods);
      OK(MPI_Comm_free(&grid));
      MPI_Request request;
      OK(MPI_Comm_idup(copy, &grid, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      OK(MPI_Comm_free(&copy));
      check_grid(grid, ndims, dims, periods);
      OK(MPI_Comm_split(grid, 0, 0, &copy)); /* does not */
      int status;
      OK(MPI_Topo_test(copy, &status));
      CHECK_INT(MPI_UNDEFINED, status);
      OK(MPI_Comm_free(&copy));
      OK(MPI_Comm_free(&grid));
    }
  }
}

/* A grid smaller than the communicator, and one without dimensions. */
static void smaller(void) {
  int dims = world_size - 1, periods = 1, place;
  MPI_Comm grid;
  if (dims > 0) {
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periods, 0, &grid));
    OK(MPI_Cart_map(MPI_COMM_WORLD, 1, &dims, &periods, &place));
    CHECK_INT(world_rank == dims, grid == MPI_COMM_NULL);
    CHECK_INT(world_rank == dims, place == MPI_UNDEFINED);
    if (grid != MPI_COMM_NULL) {
      check_grid(grid, 1, &dims, &periods);
      OK(MPI_Comm_free(&grid));
    }
  }
  OK(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 1, &grid));
  CHECK_INT(world_rank != 0, grid == MPI_COMM_NULL);
  if (grid != MPI_COMM_NULL) {
    int rank = -1, ndims = -1;
    OK(MPI_Cartdim_get(grid, &ndims));
    CHECK_INT(0, ndims);
    OK(MPI_Cart_get(grid, 0, NULL, NULL, NULL));
    OK(MPI_Cart_coords(grid, 0, 0, NULL));
    OK(MPI_Cart_rank(grid, NULL, &rank));
    CHECK_INT(0, rank);
    OK(MPI_Comm_free(&grid));
  }
}

static void errors(void) {
  MPI_Comm comm, grid, made;
  int dims[2] = {1, world_size}, periods[2] = {1, 0}, coords[2] = {0, world_size}, too_large[2] = {2, world_size}, n, m;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Cart_create(comm, 2, dims, periods, 0, &grid)); /* has the error handler of comm */
  FAILS(MPI_ERR_DIMS, MPI_Cart_create(comm, 2, too_large, periods, 0, &made));
  too_large[0] = -1;
  FAILS(MPI_ERR_DIMS, MPI_Cart_create(comm, 2, too_large, periods, 0, &made));
  FAILS(MPI_ERR_ARG, MPI_Cart_create(comm, -1, dims, periods, 0, &made));
  FAILS(MPI_ERR_ARG, MPI_Cart_create(comm, 2, dims, NULL, 0, &made));
  FAILS(MPI_ERR_TOPOLOGY, MPI_Cartdim_get(comm, &n));
  FAILS(MPI_ERR_TOPOLOGY, MPI_Cart_sub(comm, dims, &made));
  FAILS(MPI_ERR_TOPOLOGY, MPI_Cart_shift(comm, 0, 1, &n, &m));
  FAILS(MPI_ERR_ARG, MPI_Cart_rank(grid, coords, &n));
  FAILS(MPI_ERR_RANK, MPI_Cart_coords(grid, world_size, 2, coords));
  FAILS(MPI_ERR_ARG, MPI_Cart_coords(grid, 0, 1, coords));
  FAILS(MPI_ERR_ARG, MPI_Cart_get(grid, 1, dims, periods, coords));
  FAILS(MPI_ERR_ARG, MPI_Cart_shift(grid, 2, 1, &n, &m));
  OK(MPI_Comm_free(&grid));
  OK(MPI_Comm_free(&comm));
}

/* Between two groups there is no topology. */
static void between_groups(void) {
  if (world_size < 2) return;
  const int upper = world_rank > 0, dims = 1, index = 0;
  MPI_Comm half, inter, made;
  OK(MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &half));
  OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !upper, 3, &inter));
  OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
  FAILS(MPI_ERR_COMM, MPI_Cart_create(inter, 1, &dims, &dims, 0, &made));
  FAILS(MPI_ERR_COMM, MPI_Graph_create(inter, 1, &index, &index, 0, &made));
  FAILS(MPI_ERR_COMM, MPI_Dist_graph_create(inter, 0, &index, &index, &index, &index, MPI_INFO_NULL, 0, &made));
  FAILS(MPI_ERR_COMM, MPI_Dist_graph_create_adjacent(inter, 0, &index, &index, 0, &index, &index, MPI_INFO_NULL, 0, &made));
  int status;
  OK(MPI_Topo_test(inter, &status));
  CHECK_INT(MPI_UNDEFINED, status);
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&half));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  grids();
  smaller();
  errors();
  between_groups();
  return end();
}
