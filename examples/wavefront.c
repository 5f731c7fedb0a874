/* Pipelined wavefront, as in LU: Gauss-Seidel sweeps through a 3-D grid that depend on the neighbours in the north and
   west (forward) or south and east (backward). A rank computes one plane as soon as both borders of it have come, and
   passes its own on: many small blocking messages, a pipeline of ranks.

     wavefront [--size 64] [--planes 64] [--steps 20] [--check]

   --check compares every point, bit for bit, with the sweeps done by one rank. */
#include "common.h"

enum { SOUTHWARD = 1, EASTWARD, NORTHWARD, WESTWARD, RESULT };

typedef struct {
  long rows, columns, planes; /* inner points; a border of one in rows and columns, and one plane below and above */
  double* values;
} Grid;

static double* plane_of(const Grid* grid, long k) {
  return grid->values + (k + 1) * (grid->rows + 2) * (grid->columns + 2);
}

static Grid make_grid(long n, long planes, long row0, long rows, long column0, long columns) {
  Grid grid = {rows, columns, planes, NULL};
  grid.values = (double*)allocate((size_t)((planes + 2) * (rows + 2) * (columns + 2)), sizeof(double));
  for (long k = -1; k <= planes; ++k) {
    for (long i = 0; i < rows + 2; ++i) {
      for (long j = 0; j < columns + 2; ++j) {
        const uint64_t global = (uint64_t)(((k + 1) * (n + 2) + row0 + i) * (n + 2) + column0 + j);
        plane_of(&grid, k)[i * (columns + 2) + j] = uniform_at(11, global);
      }
    }
  }
  return grid;
}

static void relax(double* value, double west, double east, double north, double south, double below, double above) {
  *value = 0.4 * *value + 0.1 * (west + east + north + south + below + above);
}

static void sweep_plane(const Grid* grid, long k, int backward) {
  const long width = grid->columns + 2;
  double* here = plane_of(grid, k);
  const double *below = plane_of(grid, k - 1), *above = plane_of(grid, k + 1);
  for (long a = 1; a <= grid->rows; ++a) {
    const long i = backward ? grid->rows + 1 - a : a;
    for (long b = 1; b <= grid->columns; ++b) {
      const long x = i * width + (backward ? grid->columns + 1 - b : b);
      relax(&here[x], here[x - 1], here[x + 1], here[x - width], here[x + width], below[x], above[x]);
    }
  }
}

/* The neighbours' points of one plane, needed before it is swept, and this rank's points that the next ranks need. */
typedef struct {
  int from_row, from_column, to_row, to_column; /* ranks or MPI_PROC_NULL */
  int row_tag, column_tag;
} Pipeline;

static void sweep(const Grid* grid, const Pipeline* pipe, int backward, double* column) {
  const long width = grid->columns + 2, rows = grid->rows, columns = grid->columns;
  for (long step = 0; step < grid->planes; ++step) {
    const long k = backward ? grid->planes - 1 - step : step;
    double* here = plane_of(grid, k);
    double* border_row = here + (backward ? rows + 1 : 0) * width + 1;
    double* border_column = here + width + (backward ? columns + 1 : 0);
    MPI_Recv(border_row, (int)columns, MPI_DOUBLE, pipe->from_row, pipe->row_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (pipe->from_column != MPI_PROC_NULL) {
      MPI_Recv(column, (int)rows, MPI_DOUBLE, pipe->from_column, pipe->column_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (long i = 0; i < rows; ++i) border_column[i * width] = column[i];
    }
    sweep_plane(grid, k, backward);
    MPI_Send(here + (backward ? 1 : rows) * width + 1, (int)columns, MPI_DOUBLE, pipe->to_row, pipe->row_tag,
             MPI_COMM_WORLD);
    if (pipe->to_column != MPI_PROC_NULL) {
      const double* edge = here + width + (backward ? 1 : columns);
      for (long i = 0; i < rows; ++i) column[i] = edge[i * width];
      MPI_Send(column, (int)rows, MPI_DOUBLE, pipe->to_column, pipe->column_tag, MPI_COMM_WORLD);
    }
  }
}

/* Before a sweep the borders on the far side hold the neighbours' values of the sweep before: pass all planes at once.
 */
static void refresh_far_side(const Grid* grid, const Pipeline* pipe, int backward, double* faces) {
  const long width = grid->columns + 2, rows = grid->rows, columns = grid->columns, planes = grid->planes;
  double* in = faces + planes * (rows > columns ? rows : columns);
  for (int is_column = 0; is_column < 2; ++is_column) {
    const long length = is_column ? rows : columns, stride = is_column ? width : 1;
    const int to = is_column ? pipe->from_column : pipe->from_row, from = is_column ? pipe->to_column : pipe->to_row;
    const long own = is_column ? width + (backward ? columns : 1) : (backward ? rows : 1) * width + 1;
    const long far = is_column ? width + (backward ? 0 : columns + 1) : (backward ? 0 : rows + 1) * width + 1;
    for (long k = 0; k < planes; ++k) {
      for (long i = 0; i < length; ++i) faces[k * length + i] = plane_of(grid, k)[own + i * stride];
    }
    MPI_Sendrecv(faces, (int)(planes * length), MPI_DOUBLE, to, 20 + is_column, in, (int)(planes * length), MPI_DOUBLE,
                 from, 20 + is_column, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (long k = 0; from != MPI_PROC_NULL && k < planes; ++k) {
      for (long i = 0; i < length; ++i) plane_of(grid, k)[far + i * stride] = in[k * length + i];
    }
  }
}

static int same_as_serial(const double* result, long n, long planes, long steps) {
  Grid serial = make_grid(n, planes, 0, n, 0, n);
  for (long s = 0; s < steps; ++s) {
    for (long k = 0; k < planes; ++k) sweep_plane(&serial, k, 0);
    for (long k = planes - 1; k >= 0; --k) sweep_plane(&serial, k, 1);
  }
  int same = 1;
  for (long k = 0; k < planes; ++k) {
    for (long i = 0; i < n; ++i) {
      same = same && memcmp(plane_of(&serial, k) + (i + 1) * (n + 2) + 1, result + (k * n + i) * n, (size_t)n * 8) == 0;
    }
  }
  free(serial.values);
  return same;
}

/* All planes on rank 0, each rank's block in the order of its ranks. */
static double* gather(const Grid* grid, long n, int rank, int grid_rows, int grid_columns) {
  const long mine = grid->rows * grid->columns * grid->planes;
  double* packed = (double*)allocate((size_t)mine, sizeof(double));
  for (long k = 0, x = 0; k < grid->planes; ++k) {
    for (long i = 1; i <= grid->rows; ++i, x += grid->columns) {
      memcpy(packed + x, plane_of(grid, k) + i * (grid->columns + 2) + 1, (size_t)grid->columns * sizeof(double));
    }
  }
  double *blocks = NULL, *whole = NULL;
  const int size = grid_rows * grid_columns;
  int* counts = (int*)allocate((size_t)size, sizeof(int));
  int* places = (int*)allocate((size_t)size, sizeof(int));
  for (int p = 0, place = 0; p < size; place += counts[p++]) {
    counts[p] = (int)(block_count(n, grid_rows, p / grid_columns) * block_count(n, grid_columns, p % grid_columns) *
                      grid->planes);
    places[p] = place;
  }
  if (rank == 0) blocks = (double*)allocate((size_t)(n * n * grid->planes), sizeof(double));
  MPI_Gatherv(packed, (int)mine, MPI_DOUBLE, blocks, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    whole = (double*)allocate((size_t)(n * n * grid->planes), sizeof(double));
    for (int p = 0; p < size; ++p) {
      const double* from = blocks + places[p];
      const long rows = block_count(n, grid_rows, p / grid_columns),
                 columns = block_count(n, grid_columns, p % grid_columns);
      const long row0 = block_first(n, grid_rows, p / grid_columns),
                 column0 = block_first(n, grid_columns, p % grid_columns);
      for (long k = 0; k < grid->planes; ++k) {
        for (long i = 0; i < rows; ++i, from += columns) {
          memcpy(whole + (k * n + row0 + i) * n + column0, from, (size_t)columns * sizeof(double));
        }
      }
    }
  }
  free(blocks);
  free(packed);
  free(counts);
  free(places);
  return whole;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, grid_rows, grid_columns;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  rank_grid(size, &grid_rows, &grid_columns);
  const long n = option_long(argc, argv, "--size", 64, grid_columns);
  const long planes = option_long(argc, argv, "--planes", 64, 1);
  const long steps = option_long(argc, argv, "--steps", 20, 0);
  const int check = option_flag(argc, argv, "--check");

  const int r = rank / grid_columns, c = rank % grid_columns;
  const long rows = block_count(n, grid_rows, r), columns = block_count(n, grid_columns, c);
  const Grid grid = make_grid(n, planes, block_first(n, grid_rows, r), rows, block_first(n, grid_columns, c), columns);
  const int north = r > 0 ? rank - grid_columns : MPI_PROC_NULL,
            south = r + 1 < grid_rows ? rank + grid_columns : MPI_PROC_NULL;
  const int west = c > 0 ? rank - 1 : MPI_PROC_NULL, east = c + 1 < grid_columns ? rank + 1 : MPI_PROC_NULL;
  const Pipeline forward = {north, west, south, east, SOUTHWARD, EASTWARD};
  const Pipeline backward = {south, east, north, west, NORTHWARD, WESTWARD};
  double* scratch = (double*)allocate((size_t)(2 * planes * (rows > columns ? rows : columns)), sizeof(double));
  for (long s = 0; s < steps; ++s) {
    refresh_far_side(&grid, &forward, 0, scratch);
    sweep(&grid, &forward, 0, scratch);
    refresh_far_side(&grid, &backward, 1, scratch);
    sweep(&grid, &backward, 1, scratch);
  }

  double* whole = gather(&grid, n, rank, grid_rows, grid_columns);
  int good = 1;
  if (rank == 0) {
    printf("wavefront: %ld x %ld x %ld, %ld steps, middle %.17g, digest %016llx\n", n, n, planes, steps,
           whole[(planes / 2 * n + n / 2) * n + n / 2],
           (unsigned long long)digest(DIGEST_START, whole, (size_t)(n * n * planes) * sizeof(double)));
    if (check) good = same_as_serial(whole, n, planes, steps);
    free(whole);
  }
  free(scratch);
  free(grid.values);
  const int code = verdict(rank, check, good);
  MPI_Finalize();
  return code;
}
