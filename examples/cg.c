/* Conjugate gradient on a Matrix Market file (coordinate, real, symmetric or general; positive definite).
   Rank 0 reads and hands out blocks of rows; each rank learns once which entries of a vector it needs from whom
   (Alltoall, Alltoallv), and every product then moves just those (Isend, Irecv, Waitall). Dot products by Allreduce.

     cg [--matrix FILE.mtx | --laplace 64] [--tolerance-digits 10] [--iterations 2000] [--solves 1] [--check]

   --laplace N: the five-point Laplacian of an N x N grid instead of a file; --solves: so many right-hand sides.
   --check: the right-hand sides are made from known answers; each must be met to 1e-6, and the true residual to the
   tolerance. */
#include <math.h>

#include "common.h"

typedef struct {
  long n, entries; /* whole matrix, as triples sorted by nothing in particular */
  int *rows, *columns;
  double* values;
} Triples;

typedef struct {
  long n, first, rows; /* all unknowns; this rank's */
  int* starts;         /* rows + 1 */
  int* columns;        /* local: own unknowns first, then the halo's */
  double* values;
  int halo, neighbours_in, neighbours_out;
  int *peers_in, *counts_in, *places_in;    /* what comes: into the halo part of a vector */
  int *peers_out, *counts_out, *places_out; /* what goes: own unknowns, by list */
  int* list;
  double* outgoing;
  MPI_Request* requests;
} Matrix;

static Triples make_triples(long n, long entries) {
  Triples t = {n, 0, NULL, NULL, NULL};
  t.rows = (int*)allocate((size_t)entries, sizeof(int));
  t.columns = (int*)allocate((size_t)entries, sizeof(int));
  t.values = (double*)allocate((size_t)entries, sizeof(double));
  return t;
}

static void free_triples(Triples* t) {
  free(t->rows);
  free(t->columns);
  free(t->values);
}

static void add(Triples* t, long row, long column, double value) {
  t->rows[t->entries] = (int)row;
  t->columns[t->entries] = (int)column;
  t->values[t->entries++] = value;
}

static Triples read_matrix_market(const char* path) {
  char line[1024], field[32], symmetry[32];
  FILE* file = fopen(path, "r");
  if (!file) fail(path, "cannot be opened");
  if (!fgets(line, sizeof line, file) ||
      sscanf(line, "%%%%MatrixMarket matrix coordinate %31s %31s", field, symmetry) != 2 ||
      (strcmp(field, "real") != 0 && strcmp(field, "integer") != 0) ||
      (strcmp(symmetry, "symmetric") != 0 && strcmp(symmetry, "general") != 0)) {
    fail(path, "not a Matrix Market file in coordinate format, real or integer, symmetric or general");
  }
  long rows = 0, columns = 0, entries = 0;
  while (fgets(line, sizeof line, file) && line[0] == '%') {
  }
  if (sscanf(line, "%ld %ld %ld", &rows, &columns, &entries) != 3 || rows != columns || rows < 1 || entries < 0) {
    fail(path, "expected the size line of a square matrix");
  }
  Triples t = make_triples(rows, 2 * entries);
  const int symmetric = strcmp(symmetry, "symmetric") == 0;
  for (long i = 0; i < entries; ++i) {
    long row, column;
    double value;
    if (fscanf(file, "%ld %ld %lf", &row, &column, &value) != 3 || row < 1 || row > rows || column < 1 ||
        column > rows) {
      fail(path, "an entry is missing or lies outside of the matrix");
    }
    add(&t, row - 1, column - 1, value);
    if (symmetric && row != column) add(&t, column - 1, row - 1, value);
  }
  fclose(file);
  return t;
}

static Triples laplace(long side) {
  Triples t = make_triples(side * side, 5 * side * side);
  for (long i = 0; i < side; ++i) {
    for (long j = 0; j < side; ++j) {
      const long x = i * side + j;
      if (i > 0) add(&t, x, x - side, -1.0);
      if (j > 0) add(&t, x, x - 1, -1.0);
      add(&t, x, x, 4.0 + 0.01 * uniform_at(3, (uint64_t)x));
      if (j + 1 < side) add(&t, x, x + 1, -1.0);
      if (i + 1 < side) add(&t, x, x + side, -1.0);
    }
  }
  return t;
}

static int owner_of(long n, int size, long row) {
  int low = 0, high = size - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (block_first(n, size, middle) <= row)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* Rank 0 has all triples; each rank gets those of its rows. */
static Triples scatter(const Triples* all, int rank, int size) {
  long n = all->n;
  MPI_Bcast(&n, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  int* counts = (int*)allocate((size_t)size, sizeof(int));
  int* places = (int*)allocate((size_t)size + 1, sizeof(int));
  Triples sorted = {n, 0, NULL, NULL, NULL};
  if (rank == 0) {
    for (long i = 0; i < all->entries; ++i) ++counts[owner_of(n, size, all->rows[i])];
    for (int p = 0; p < size; ++p) places[p + 1] = places[p] + counts[p];
    sorted = make_triples(n, all->entries);
    for (long i = 0; i < all->entries; ++i) {
      const int x = places[owner_of(n, size, all->rows[i])]++;
      sorted.rows[x] = all->rows[i];
      sorted.columns[x] = all->columns[i];
      sorted.values[x] = all->values[i];
    }
    for (int p = 0; p < size; ++p) places[p] -= counts[p];
  }
  int mine = 0;
  MPI_Scatter(counts, 1, MPI_INT, &mine, 1, MPI_INT, 0, MPI_COMM_WORLD);
  Triples t = make_triples(n, mine);
  t.entries = mine;
  MPI_Scatterv(sorted.rows, counts, places, MPI_INT, t.rows, mine, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Scatterv(sorted.columns, counts, places, MPI_INT, t.columns, mine, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Scatterv(sorted.values, counts, places, MPI_DOUBLE, t.values, mine, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  free_triples(&sorted);
  free(counts);
  free(places);
  return t;
}

/* Who needs what: `needed` lists the foreign columns, ascending, so those of one owner stand together. */
static void plan_exchange(Matrix* m, const int* needed, int size) {
  int* want = (int*)allocate((size_t)size, sizeof(int));
  int* give = (int*)allocate((size_t)size, sizeof(int));
  int* want_at = (int*)allocate((size_t)size + 1, sizeof(int));
  int* give_at = (int*)allocate((size_t)size + 1, sizeof(int));
  for (int i = 0; i < m->halo; ++i) ++want[owner_of(m->n, size, needed[i])];
  MPI_Alltoall(want, 1, MPI_INT, give, 1, MPI_INT, MPI_COMM_WORLD);
  for (int p = 0; p < size; ++p) {
    want_at[p + 1] = want_at[p] + want[p];
    give_at[p + 1] = give_at[p] + give[p];
    m->neighbours_in += want[p] > 0;
    m->neighbours_out += give[p] > 0;
  }
  m->list = (int*)allocate((size_t)give_at[size], sizeof(int));
  m->outgoing = (double*)allocate((size_t)give_at[size], sizeof(double));
  MPI_Alltoallv(needed, want, want_at, MPI_INT, m->list, give, give_at, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < give_at[size]; ++i) m->list[i] -= (int)m->first;

  const size_t in = (size_t)m->neighbours_in, out = (size_t)m->neighbours_out;
  m->peers_in = (int*)allocate(in, sizeof(int));
  m->counts_in = (int*)allocate(in, sizeof(int));
  m->places_in = (int*)allocate(in, sizeof(int));
  m->peers_out = (int*)allocate(out, sizeof(int));
  m->counts_out = (int*)allocate(out, sizeof(int));
  m->places_out = (int*)allocate(out, sizeof(int));
  m->requests = (MPI_Request*)allocate(in + out, sizeof(MPI_Request));
  for (int p = 0, i = 0, o = 0; p < size; ++p) {
    if (want[p]) m->peers_in[i] = p, m->counts_in[i] = want[p], m->places_in[i++] = want_at[p];
    if (give[p]) m->peers_out[o] = p, m->counts_out[o] = give[p], m->places_out[o++] = give_at[p];
  }
  free(want);
  free(give);
  free(want_at);
  free(give_at);
}

static void free_matrix(Matrix* m) {
  int* const lists[] = {m->starts,   m->columns,   m->peers_in,   m->counts_in, m->places_in,
                        m->peers_out, m->counts_out, m->places_out, m->list};
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; ++i) free(lists[i]);
  free(m->values);
  free(m->outgoing);
  free(m->requests);
}

static int by_value(const void* a, const void* b) {
  const int x = *(const int*)a, y = *(const int*)b;
  return (x > y) - (x < y);
}

static Matrix make_matrix(Triples* t, int rank, int size) {
  Matrix m;
  memset(&m, 0, sizeof m);
  m.n = t->n;
  m.first = block_first(t->n, size, rank);
  m.rows = block_count(t->n, size, rank);
  m.starts = (int*)allocate((size_t)m.rows + 1, sizeof(int));
  m.columns = (int*)allocate((size_t)t->entries, sizeof(int));
  m.values = (double*)allocate((size_t)t->entries, sizeof(double));
  int* needed = (int*)allocate((size_t)t->entries, sizeof(int));
  for (long i = 0; i < t->entries; ++i) {
    ++m.starts[t->rows[i] - m.first + 1];
    if (t->columns[i] < m.first || t->columns[i] >= m.first + m.rows) needed[m.halo++] = t->columns[i];
  }
  for (long i = 0; i < m.rows; ++i) m.starts[i + 1] += m.starts[i];
  qsort(needed, (size_t)m.halo, sizeof(int), by_value);
  int unique = 0;
  for (int i = 0; i < m.halo; ++i) {
    if (unique == 0 || needed[unique - 1] != needed[i]) needed[unique++] = needed[i];
  }
  m.halo = unique;
  int* fill = (int*)allocate((size_t)m.rows, sizeof(int));
  for (long i = 0; i < t->entries; ++i) {
    const long row = t->rows[i] - m.first;
    const int x = m.starts[row] + fill[row]++;
    const long column = t->columns[i] - m.first;
    m.values[x] = t->values[i];
    if (column >= 0 && column < m.rows) {
      m.columns[x] = (int)column;
    } else {
      const int* found = (const int*)bsearch(&t->columns[i], needed, (size_t)m.halo, sizeof(int), by_value);
      m.columns[x] = (int)m.rows + (int)(found - needed);
    }
  }
  plan_exchange(&m, needed, size);
  free(needed);
  free(fill);
  return m;
}

/* y = A x; x has room for the halo behind the own unknowns. */
static void multiply(Matrix* m, double* x, double* y) {
  int r = 0;
  for (int i = 0; i < m->neighbours_in; ++i) {
    MPI_Irecv(x + m->rows + m->places_in[i], m->counts_in[i], MPI_DOUBLE, m->peers_in[i], 5, MPI_COMM_WORLD,
              &m->requests[r++]);
  }
  for (int i = 0; i < m->neighbours_out; ++i) {
    double* out = m->outgoing + m->places_out[i];
    for (int j = 0; j < m->counts_out[i]; ++j) out[j] = x[m->list[m->places_out[i] + j]];
    MPI_Isend(out, m->counts_out[i], MPI_DOUBLE, m->peers_out[i], 5, MPI_COMM_WORLD, &m->requests[r++]);
  }
  MPI_Waitall(r, m->requests, MPI_STATUSES_IGNORE);
  for (long i = 0; i < m->rows; ++i) {
    double sum = 0.0;
    for (int k = m->starts[i]; k < m->starts[i + 1]; ++k) sum += m->values[k] * x[m->columns[k]];
    y[i] = sum;
  }
}

static double dot(const double* a, const double* b, long count) {
  double mine = 0.0, sum;
  for (long i = 0; i < count; ++i) mine += a[i] * b[i];
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

/* Solves A x = b; x starts at 0. Returns the number of iterations. */
static long solve(Matrix* m, const double* b, double* x, double* work, double tolerance, long iterations_max) {
  double *r = work, *p = r + m->rows, *q = p + m->rows + m->halo;
  for (long i = 0; i < m->rows; ++i) r[i] = p[i] = b[i], x[i] = 0.0;
  double rho = dot(r, r, m->rows);
  const double target = tolerance * tolerance * rho;
  long iteration = 0;
  for (; iteration < iterations_max && rho > target; ++iteration) {
    multiply(m, p, q);
    const double alpha = rho / dot(p, q, m->rows);
    for (long i = 0; i < m->rows; ++i) x[i] += alpha * p[i], r[i] -= alpha * q[i];
    const double next = dot(r, r, m->rows);
    const double beta = next / rho;
    rho = next;
    for (long i = 0; i < m->rows; ++i) p[i] = r[i] + beta * p[i];
  }
  return iteration;
}

/* Largest error against the known answer, and the true residual relative to b: both small? */
static int answer_good(Matrix* m, const double* b, double* x, const double* known, double* scratch, double tolerance) {
  double worst = 0.0, worst_of_all;
  for (long i = 0; i < m->rows; ++i) {
    const double error = x[i] > known[i] ? x[i] - known[i] : known[i] - x[i];
    if (error > worst) worst = error;
  }
  MPI_Allreduce(&worst, &worst_of_all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  multiply(m, x, scratch);
  for (long i = 0; i < m->rows; ++i) scratch[i] -= b[i];
  const double residual = sqrt(dot(scratch, scratch, m->rows) / dot(b, b, m->rows));
  return worst_of_all < 1e-6 && residual < 10.0 * tolerance;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* path = option_text(argc, argv, "--matrix", NULL);
  const long side = option_long(argc, argv, "--laplace", 64, 1);
  const long iterations_max = option_long(argc, argv, "--iterations", 2000, 1);
  const long solves = option_long(argc, argv, "--solves", 1, 1);
  const int check = option_flag(argc, argv, "--check");
  double tolerance = 1.0;
  for (long d = option_long(argc, argv, "--tolerance-digits", 10, 1); d > 0; --d) tolerance *= 0.1;

  Triples all = {0, 0, NULL, NULL, NULL};
  if (rank == 0) all = path ? read_matrix_market(path) : laplace(side);
  Triples mine = scatter(&all, rank, size);
  Matrix m = make_matrix(&mine, rank, size);
  free_triples(&all);
  free_triples(&mine);
  const size_t room = (size_t)(m.rows + m.halo);
  double* known = (double*)allocate(room, sizeof(double));
  double* x = (double*)allocate(room, sizeof(double));
  double* b = (double*)allocate((size_t)m.rows, sizeof(double));
  double* work = (double*)allocate(3 * room, sizeof(double));
  double* whole = (double*)allocate(rank == 0 ? (size_t)m.n : 0, sizeof(double));
  int* counts = (int*)allocate((size_t)size, sizeof(int));
  int* places = (int*)allocate((size_t)size, sizeof(int));
  for (int p = 0; p < size; ++p) counts[p] = (int)block_count(m.n, size, p), places[p] = (int)block_first(m.n, size, p);

  if (rank == 0) printf("cg: %ld unknowns\n", m.n);
  uint64_t state = DIGEST_START;
  int good = 1;
  for (long s = 0; s < solves; ++s) {
    for (long i = 0; i < m.rows; ++i) known[i] = 1.0 + uniform_at((uint64_t)s, (uint64_t)(m.first + i));
    multiply(&m, known, b);
    const long iterations = solve(&m, b, x, work, tolerance, iterations_max);
    if (check) good = answer_good(&m, b, x, known, work, tolerance) && good;
    MPI_Gatherv(x, (int)m.rows, MPI_DOUBLE, whole, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
      state = digest(state, whole, (size_t)m.n * sizeof(double));
      printf("solve %ld: %ld iterations, x[0] %.17g, digest %016llx\n", s, iterations, whole[0],
             (unsigned long long)state);
    }
  }
  free_matrix(&m);
  double* const vectors[] = {known, x, b, work, whole};
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; ++i) free(vectors[i]);
  free(counts);
  free(places);
  const int code = verdict(rank, check, good);
  MPI_Finalize();
  return code;
}
