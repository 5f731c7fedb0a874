/* Heat on a square plate: Jacobi steps of the five-point stencil on a 2-D grid of ranks.
   Halos by Isend, Irecv and Waitall (columns as a vector type), the residual by Allreduce.

     heat [--size 512] [--steps 200] [--every 20] [--check]

   --size: inner points a side; --every: steps between residuals; --check compares the whole field, bit for bit, with
   the same steps done by one rank. */
#include "common.h"

enum { TO_NORTH, TO_SOUTH, TO_WEST, TO_EAST };

typedef struct {
  long rows, columns; /* inner points of this rank; the arrays have a border of one around them */
  double *now, *next;
} Field;

static double* at(const Field* field, double* data, long row, long column) {
  return data + row * (field->columns + 2) + column;
}

static Field make_field(long rows, long columns) {
  Field field = {rows, columns, NULL, NULL};
  field.now = (double*)allocate((size_t)((rows + 2) * (columns + 2)), sizeof(double));
  field.next = (double*)allocate((size_t)((rows + 2) * (columns + 2)), sizeof(double));
  return field;
}

/* Start values: a hot western edge, a warm southern one, noise inside, as a function of the global position. */
static double start_value(long n, long row, long column) {
  if (column < 0) return 100.0;
  if (row >= n) return 25.0;
  if (row < 0 || column >= n) return 0.0;
  return uniform_at(7, (uint64_t)(row * n + column));
}

static void fill(Field* field, long n, long row0, long column0) {
  for (long i = 0; i < field->rows + 2; ++i) {
    for (long j = 0; j < field->columns + 2; ++j) {
      *at(field, field->now, i, j) = *at(field, field->next, i, j) = start_value(n, row0 + i - 1, column0 + j - 1);
    }
  }
}

/* One step; returns the largest change. */
static double step(Field* field) {
  double largest = 0.0;
  for (long i = 1; i <= field->rows; ++i) {
    const double* above = at(field, field->now, i - 1, 0);
    const double* here = at(field, field->now, i, 0);
    const double* below = at(field, field->now, i + 1, 0);
    double* out = at(field, field->next, i, 0);
    for (long j = 1; j <= field->columns; ++j) {
      out[j] = 0.25 * (above[j] + below[j] + here[j - 1] + here[j + 1]);
      const double change = out[j] > here[j] ? out[j] - here[j] : here[j] - out[j];
      if (change > largest) largest = change;
    }
  }
  double* swap = field->now;
  field->now = field->next;
  field->next = swap;
  return largest;
}

static void exchange(Field* field, const int neighbour[4], MPI_Datatype column) {
  MPI_Request requests[8];
  int count = 0;
  double* now = field->now;
  const long rows = field->rows, columns = field->columns;
  double* inner[4] = {at(field, now, 1, 1), at(field, now, rows, 1), at(field, now, 1, 1), at(field, now, 1, columns)};
  double* border[4] = {at(field, now, 0, 1), at(field, now, rows + 1, 1), at(field, now, 1, 0),
                       at(field, now, 1, columns + 1)};
  const int opposite[4] = {TO_SOUTH, TO_NORTH, TO_EAST, TO_WEST};
  for (int side = 0; side < 4; ++side) {
    const int is_row = side == TO_NORTH || side == TO_SOUTH;
    MPI_Irecv(border[side], is_row ? (int)columns : 1, is_row ? MPI_DOUBLE : column, neighbour[side], opposite[side],
              MPI_COMM_WORLD, &requests[count++]);
  }
  for (int side = 0; side < 4; ++side) {
    const int is_row = side == TO_NORTH || side == TO_SOUTH;
    MPI_Isend(inner[side], is_row ? (int)columns : 1, is_row ? MPI_DOUBLE : column, neighbour[side], side,
              MPI_COMM_WORLD, &requests[count++]);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

/* The inner points of all ranks in one array on rank 0 (NULL elsewhere). */
static double* gather(Field* field, long n, int rank, int grid_rows, int grid_columns) {
  MPI_Datatype block;
  MPI_Type_vector((int)field->rows, (int)field->columns, (int)field->columns + 2, MPI_DOUBLE, &block);
  MPI_Type_commit(&block);
  MPI_Request sent;
  MPI_Isend(at(field, field->now, 1, 1), 1, block, 0, 99, MPI_COMM_WORLD, &sent);
  double* whole = NULL;
  if (rank == 0) {
    whole = (double*)allocate((size_t)(n * n), sizeof(double));
    for (int source = 0; source < grid_rows * grid_columns; ++source) {
      const int r = source / grid_columns, c = source % grid_columns;
      MPI_Datatype place;
      MPI_Type_vector((int)block_count(n, grid_rows, r), (int)block_count(n, grid_columns, c), (int)n, MPI_DOUBLE,
                      &place);
      MPI_Type_commit(&place);
      MPI_Recv(whole + block_first(n, grid_rows, r) * n + block_first(n, grid_columns, c), 1, place, source, 99,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Type_free(&place);
    }
  }
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  MPI_Type_free(&block);
  return whole;
}

static int same_as_serial(const double* whole, long n, long steps) {
  Field serial = make_field(n, n);
  fill(&serial, n, 0, 0);
  for (long i = 0; i < steps; ++i) step(&serial);
  int same = 1;
  for (long row = 0; row < n; ++row) {
    same = same && memcmp(at(&serial, serial.now, row + 1, 1), whole + row * n, (size_t)n * sizeof(double)) == 0;
  }
  free(serial.now);
  free(serial.next);
  return same;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, grid_rows, grid_columns;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  rank_grid(size, &grid_rows, &grid_columns);
  const long n = option_long(argc, argv, "--size", 512, grid_columns);
  const long steps = option_long(argc, argv, "--steps", 200, 0);
  const long every = option_long(argc, argv, "--every", 20, 1);
  const int check = option_flag(argc, argv, "--check");

  const int r = rank / grid_columns, c = rank % grid_columns;
  Field field = make_field(block_count(n, grid_rows, r), block_count(n, grid_columns, c));
  fill(&field, n, block_first(n, grid_rows, r), block_first(n, grid_columns, c));
  const int neighbour[4] = {r > 0 ? rank - grid_columns : MPI_PROC_NULL,
                            r + 1 < grid_rows ? rank + grid_columns : MPI_PROC_NULL, c > 0 ? rank - 1 : MPI_PROC_NULL,
                            c + 1 < grid_columns ? rank + 1 : MPI_PROC_NULL};
  MPI_Datatype column;
  MPI_Type_vector((int)field.rows, 1, (int)field.columns + 2, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);

  for (long i = 1; i <= steps; ++i) {
    exchange(&field, neighbour, column);
    const double mine = step(&field);
    if (i % every == 0) {
      double largest;
      MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      if (rank == 0) printf("step %ld: residual %.17g\n", i, largest);
    }
  }

  double* whole = gather(&field, n, rank, grid_rows, grid_columns);
  int good = 1;
  if (rank == 0) {
    printf("heat: %ld x %ld, %ld steps, centre %.17g, digest %016llx\n", n, n, steps, whole[n / 2 * n + n / 2],
           (unsigned long long)digest(DIGEST_START, whole, (size_t)(n * n) * sizeof(double)));
    if (check) good = same_as_serial(whole, n, steps);
    free(whole);
  }
  MPI_Type_free(&column);
  free(field.now);
  free(field.next);
  const int code = verdict(rank, check, good);
  MPI_Finalize();
  return code;
}
