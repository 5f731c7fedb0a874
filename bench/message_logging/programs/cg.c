/* CG: conjugate gradients on a random sparse matrix, laid out on rows and columns of ranks. Each product is summed along the row by
   exchanges between pairs, and its parts then change places with the transposed rank; sums of scalars go along the row. All
   receives are from a named source.

     cg [--size N] [--steps S] [--entries E]    ranks: a power of two */
#include "kernels.h"

static int rows, columns, row, column; /* of ranks: columns is rows or twice that */
static int height, width;              /* of the block of this rank */
static int *begins, *where;            /* the block's entries, row by row */
static double *entry, *received;

static int rank_of(int r, int c) { return r * columns + c; }

static void exchange(const double* out, double* in, int count, int other, int tag) {
  MPI_Request request;
  MPI_Irecv(in, count, MPI_DOUBLE, other, tag, MPI_COMM_WORLD, &request);
  MPI_Send(out, count, MPI_DOUBLE, other, tag, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Every rank of the row adds up all their values; pairs add the same two numbers, so that all get the same bits. */
static void sum_along_row(double* values, int count, int tag) {
  for (int step = 1; step < columns; step *= 2) {
    exchange(values, received, count, rank_of(row, column ^ step), tag);
    for (int i = 0; i < count; ++i) values[i] += received[i];
  }
}

/* The symmetric matrix by rows: E pairs of places for each row, and a diagonal that dominates. */
static void make_matrix(int size, int entries) {
  const long most = 2L * size * entries + size;
  int* count = allocate((size_t)height + 1, sizeof *count);
  where = allocate((size_t)most, sizeof *where), entry = doubles(most);
  begins = allocate((size_t)height + 1, sizeof *begins);
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < size; ++i) {
      for (int e = 0; e <= entries; ++e) {
        const long place = (long)i * (entries + 1) + e;
        const int j = e == entries ? i : (int)(uniform_at(1, (uint64_t)place) * size);
        const double value = e == entries ? 4.0 * entries : uniform_at(2, (uint64_t)place) - 0.5;
        for (int turn = 0; turn < (i == j ? 1 : 2); ++turn) {
          const int r = (turn ? j : i) - row * height, c = (turn ? i : j) - column * width;
          if (r < 0 || r >= height || c < 0 || c >= width) continue;
          if (pass == 1) where[begins[r] + count[r]] = c, entry[begins[r] + count[r]] = value;
          ++count[r];
        }
      }
    }
    for (int r = 0; r < height && pass == 0; ++r) begins[r + 1] = begins[r] + count[r], count[r] = 0;
  }
  free(count);
}

/* q = A p, both by columns of ranks: the block's part, summed along the row; then the piece for the own column is fetched. */
static void multiply(const double* p, double* w, double* q) {
  for (int r = 0; r < height; ++r) {
    double sum = 0;
    for (int e = begins[r]; e < begins[r + 1]; ++e) sum += entry[e] * p[where[e]];
    w[r] = sum;
  }
  sum_along_row(w, height, 1);
  const int fold = columns / rows, other_row = column / fold, other_column = fold * row + column % fold;
  const double* piece = w + (long)(column % fold) * width;
  if (rank_of(other_row, other_column) == rank) memcpy(q, piece, (size_t)width * sizeof *q);
  else exchange(piece, q, width, rank_of(other_row, other_column), 2);
}

static double dot(const double* a, const double* b) {
  double sum = 0;
  for (int i = 0; i < width; ++i) sum += a[i] * b[i];
  sum_along_row(&sum, 1, 3);
  return sum;
}

int main(int argc, char** argv) {
  begin_kernel(&argc, &argv);
  const int size = (int)option_long(argc, argv, "--size", 16384, 2), steps = (int)option_long(argc, argv, "--steps", 100, 1);
  int grid[2];
  split(ranks, 2, grid);
  columns = grid[0], rows = grid[1], row = rank / columns, column = rank % columns;
  height = share(size, rows), width = share(size, columns);
  received = doubles(height);
  make_matrix(size, (int)option_long(argc, argv, "--entries", 64, 1));
  double *x = doubles(width), *r = doubles(width), *p = doubles(width), *q = doubles(width), *w = doubles(height);
  for (int i = 0; i < width; ++i) r[i] = p[i] = uniform_at(3, (uint64_t)(column * width + i));
  start_clock();
  double rho = dot(r, r);
  const double first = rho;
  for (int s = 0; s < steps && rho > 1e-300; ++s) {
    multiply(p, w, q);
    const double alpha = rho / dot(p, q);
    for (int i = 0; i < width; ++i) x[i] += alpha * p[i], r[i] -= alpha * q[i];
    const double before = rho;
    rho = dot(r, r);
    for (int i = 0; i < width; ++i) p[i] = r[i] + rho / before * p[i];
  }
  if (!(rho < first)) fail("cg", "does not converge");
  uint64_t parts = 0;
  for (int i = 0; i < width && row == 0; ++i) parts += part(column * (long)width + i, x[i]);
  end_kernel(parts);
  return 0;
}
