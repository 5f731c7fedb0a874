/* Reductions: reduce, allreduce, reduce_scatter, reduce_scatter_block, scan, exscan. Predefined operations; operations of
 * the program that are not commutative and must see the ranks in order; types with gaps; MPI_IN_PLACE; all roots. */
#include "coll.h"

static int rank, size;

/* ---- an operation that is associative and not commutative: composition of x -> a x + b modulo a prime */
struct affine {
  long a, b;
};
static const long prime = 1000003;

static struct affine compose(struct affine f, struct affine g) { /* first f, then g */
  struct affine h = {f.a * g.a % prime, (g.a * f.b + g.b) % prime};
  return h;
}
static void compose_op(void* in, void* inout, int* n, MPI_Datatype* type) {
  struct affine *f = in, *g = inout;
  (void)type;
  for (int i = 0; i < *n; ++i) g[i] = compose(f[i], g[i]);
}
static struct affine affine_of(int r, int i) {
  struct affine f = {2 + (r * 7 + i) % 1000, (r * 31 + i * 3) % 1000};
  return f;
}
static struct affine range_of(int first, int last, int i) {
  struct affine f = affine_of(first, i);
  for (int r = first + 1; r <= last; ++r) f = compose(f, affine_of(r, i));
  return f;
}
static void check_affine(const struct affine* got, int n, int first, int last, int from, int line) {
  for (int i = 0; i < n; ++i) {
    struct affine want = range_of(first, last, from + i);
    if (got[i].a != want.a || got[i].b != want.b) {
      fprintf(stderr, "rank %d: line %d: element %d of %d is wrong\n", world_rank, line, i, n);
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
}
#define CHECK_AFFINE(got, n, first, last, from) check_affine(got, n, first, last, from, __LINE__)

static void in_order(MPI_Comm comm, MPI_Datatype type, MPI_Op op, int n, int in_place) {
  size_t bytes = sizeof(struct affine) * ((size_t)n * size + 1);
  struct affine *out = malloc(bytes), *in = malloc(bytes);
#define FILL(p, count)                                      \
  for (int i_ = 0; i_ < (count); ++i_) (p)[i_] = affine_of(rank, i_)
  FILL(out, n * size);
  for (int root = 0; root < size; ++root) {
    if (in_place) FILL(in, n);
    const void* from = in_place && rank == root ? MPI_IN_PLACE : (void*)out;
    COLLECTIVE(Reduce, Ireduce, from, rank == root ? in : NULL, n, type, op, root, comm);
    if (rank == root) CHECK_AFFINE(in, n, 0, size - 1, 0);
  }
  const void* from = in_place ? MPI_IN_PLACE : (void*)out;
  FILL(in, n);
  COLLECTIVE(Allreduce, Iallreduce, from, in, n, type, op, comm);
  CHECK_AFFINE(in, n, 0, size - 1, 0);
  FILL(in, n);
  COLLECTIVE(Scan, Iscan, from, in, n, type, op, comm);
  CHECK_AFFINE(in, n, 0, rank, 0);
  FILL(in, n);
  COLLECTIVE(Exscan, Iexscan, from, in, n, type, op, comm);
  if (rank) CHECK_AFFINE(in, n, 0, rank - 1, 0);
  else CHECK_AFFINE(in, n, 0, 0, 0);
  FILL(in, n * size);
  COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, from, in, n, type, op, comm);
  CHECK_AFFINE(in, n, 0, size - 1, rank * n);
  int *counts = malloc(sizeof(int) * size), before = 0, total = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = r % 3 == 1 ? 0 : n * (r + 1) / size;
    if (r < rank) before += counts[r];
    total += counts[r];
  }
  FILL(in, total);
  COLLECTIVE(Reduce_scatter, Ireduce_scatter, from, in, counts, type, op, comm);
  CHECK_AFFINE(in, counts[rank], 0, size - 1, before);
  free(counts);
  free(out);
  free(in);
}

/* ---- predefined operations on one element type */
#define PREDEFINED(name, ctype, mpitype, start, combine, op)                                          \
  static void name(MPI_Comm comm, int n, int in_place) {                                              \
    ctype *out = malloc(sizeof(ctype) * ((size_t)n * size + 1)), *in = malloc(sizeof(ctype) * ((size_t)n * size + 1)); \
    const void* from = in_place ? MPI_IN_PLACE : (void*)out;                                          \
    for (int i = 0; i < n * size; ++i) out[i] = in[i] = start(rank, i);                               \
    COLLECTIVE(Allreduce, Iallreduce, from, in, n, mpitype, op, comm);                                \
    for (int i = 0; i < n; ++i) {                                                                     \
      ctype want = start(0, i);                                                                       \
      for (int r = 1; r < size; ++r) want = combine(want, start(r, i));                               \
      CHECK(in[i] == want);                                                                           \
    }                                                                                                 \
    int root = n % size;                                                                              \
    for (int i = 0; i < n * size; ++i) in[i] = start(rank, i);                                        \
    COLLECTIVE(Reduce, Ireduce, in_place && rank == root ? MPI_IN_PLACE : (void*)out, in, n, mpitype, op, root, comm); \
    for (int i = 0; rank == root && i < n; ++i) {                                                     \
      ctype want = start(0, i);                                                                       \
      for (int r = 1; r < size; ++r) want = combine(want, start(r, i));                               \
      CHECK(in[i] == want);                                                                           \
    }                                                                                                 \
    for (int i = 0; i < n * size; ++i) in[i] = start(rank, i);                                        \
    COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, from, in, n, mpitype, op, comm);          \
    for (int i = 0; i < n; ++i) {                                                                     \
      ctype want = start(0, rank * n + i);                                                            \
      for (int r = 1; r < size; ++r) want = combine(want, start(r, rank * n + i));                    \
      CHECK(in[i] == want);                                                                           \
    }                                                                                                 \
    for (int i = 0; i < n * size; ++i) in[i] = start(rank, i);                                        \
    COLLECTIVE(Scan, Iscan, from, in, n, mpitype, op, comm);                                          \
    for (int i = 0; i < n; ++i) {                                                                     \
      ctype want = start(0, i);                                                                       \
      for (int r = 1; r <= rank; ++r) want = combine(want, start(r, i));                              \
      CHECK(in[i] == want);                                                                           \
    }                                                                                                 \
    free(out);                                                                                        \
    free(in);                                                                                         \
  }
#define SMALL(r, i) (((r) * 3 + (i)) % 11 + 1)
#define BITS(r, i) (((r) * 77 + (i) * 13) & 255)
#define ADD(a, b) ((a) + (b))
#define MULTIPLY(a, b) ((a) * (b))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))
#define XOR(a, b) ((a) ^ (b))
#define LOGICAL_AND(a, b) ((a) && (b))
#define LOGICAL_OR(a, b) ((a) || (b))
#define LOGICAL_XOR(a, b) (!(a) != !(b))
#define SOMETIMES(r, i) (((r) + (i)) % 3 == 0)
PREDEFINED(int_sum, int, MPI_INT, SMALL, ADD, MPI_SUM)
PREDEFINED(double_sum, double, MPI_DOUBLE, SMALL, ADD, MPI_SUM) /* exact: small integers */
PREDEFINED(long_max, long, MPI_LONG, SMALL, LARGER, MPI_MAX)
PREDEFINED(float_min, float, MPI_FLOAT, SMALL, SMALLER, MPI_MIN)
PREDEFINED(unsigned_product, unsigned long long, MPI_UNSIGNED_LONG_LONG, SMALL, MULTIPLY, MPI_PROD)
PREDEFINED(bytes_and, unsigned char, MPI_BYTE, BITS, AND, MPI_BAND)
PREDEFINED(ints_or, int, MPI_INT, BITS, OR, MPI_BOR)
PREDEFINED(shorts_xor, short, MPI_SHORT, BITS, XOR, MPI_BXOR)
PREDEFINED(logical_and, int, MPI_INT, SOMETIMES, LOGICAL_AND, MPI_LAND)
PREDEFINED(logical_or, int, MPI_INT, SOMETIMES, LOGICAL_OR, MPI_LOR)
PREDEFINED(logical_xor, int, MPI_INT, SOMETIMES, LOGICAL_XOR, MPI_LXOR)

static void locations(MPI_Comm comm, int n) {
  struct {
    double value;
    int index;
  } *out = malloc(sizeof(*out) * (n + 1)), *in = malloc(sizeof(*in) * (n + 1));
  for (int i = 0; i < n; ++i) out[i].value = (rank * 7 + i) % 5, out[i].index = rank;
  for (int least = 0; least < 2; ++least) {
    COLLECTIVE(Allreduce, Iallreduce, out, in, n, MPI_DOUBLE_INT, least ? MPI_MINLOC : MPI_MAXLOC, comm);
    for (int i = 0; i < n; ++i) {
      int best = 0;
      for (int r = 1; r < size; ++r) {
        int a = (r * 7 + i) % 5, b = (best * 7 + i) % 5;
        if (least ? a < b : a > b) best = r;
      }
      CHECK_INT(best, in[i].index);
      CHECK(in[i].value == (best * 7 + i) % 5);
    }
  }
  free(out);
  free(in);
}

/* ---- an operation of the program on a type with gaps */
static void add_gapped(void* in, void* inout, int* n, MPI_Datatype* type) {
  int *a = in, *b = inout;
  (void)type;
  for (int i = 0; i < *n; ++i) b[3 * (size_t)i] += a[3 * (size_t)i];
}

static void gaps(MPI_Comm comm, MPI_Op op, int n) {
  int stride, sum_of_ranks = size * (size - 1) / 2;
  MPI_Datatype type = layout(1, &stride);
  int *out = blank(n, stride), *in = blank(n, stride);
  for (int i = 0; i < n; ++i) out[(size_t)i * stride] = rank + i;
  COLLECTIVE(Allreduce, Iallreduce, out, in, n, type, op, comm);
  for (int i = 0; i < n; ++i) {
    CHECK_INT(sum_of_ranks + size * i, in[(size_t)i * stride]);
    CHECK_INT(-1, in[(size_t)i * stride + 1]);
  }
  free(in);
  in = blank(n, stride);
  COLLECTIVE(Scan, Iscan, out, in, n, type, op, comm);
  for (int i = 0; i < n; ++i) CHECK_INT(rank * (rank + 1) / 2 + (rank + 1) * i, in[(size_t)i * stride]);
  free(in);
  in = blank(n, stride);
  COLLECTIVE(Reduce, Ireduce, out, in, n, type, op, size - 1, comm);
  for (int i = 0; rank == size - 1 && i < n; ++i) CHECK_INT(sum_of_ranks + size * i, in[(size_t)i * stride]);
  free(out);
  free(in);
}

/* ---- an operation that assigns whole structs, of which the type describes a part: bytes up to the extent are written too */
struct labelled {
  double v;
  char rest[64];
};
static void take_larger(void* in, void* inout, int* n, MPI_Datatype* type) {
  struct labelled *a = in, *b = inout;
  (void)type;
  for (int i = 0; i < *n; ++i)
    if (a[i].v > b[i].v) b[i] = a[i];
}
static double labelled_value(int r, int i) { return (r * 7 + i * 3) % 11; }
static double largest(int last, int i) {
  double most = labelled_value(0, i);
  for (int r = 1; r <= last; ++r) most = labelled_value(r, i) > most ? labelled_value(r, i) : most;
  return most;
}

static void whole_structs(MPI_Comm comm, MPI_Op op, int n) {
  MPI_Datatype type;
  struct labelled *out = calloc((size_t)n * size + 1, sizeof *out), *in = calloc((size_t)n * size + 1, sizeof *in);
  OK(MPI_Type_create_resized(MPI_DOUBLE, 0, sizeof(struct labelled), &type));
  OK(MPI_Type_commit(&type));
  for (int i = 0; i < n * size; ++i) out[i].v = labelled_value(rank, i);
  for (int root = 0; root < size; ++root) {
    COLLECTIVE(Reduce, Ireduce, out, in, n, type, op, root, comm);
    for (int i = 0; rank == root && i < n; ++i) CHECK(in[i].v == largest(size - 1, i));
  }
  COLLECTIVE(Allreduce, Iallreduce, out, in, n, type, op, comm);
  for (int i = 0; i < n; ++i) CHECK(in[i].v == largest(size - 1, i));
  COLLECTIVE(Scan, Iscan, out, in, n, type, op, comm);
  for (int i = 0; i < n; ++i) CHECK(in[i].v == largest(rank, i));
  COLLECTIVE(Exscan, Iexscan, out, in, n, type, op, comm);
  for (int i = 0; rank && i < n; ++i) CHECK(in[i].v == largest(rank - 1, i));
  COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, out, in, n, type, op, comm);
  for (int i = 0; i < n; ++i) CHECK(in[i].v == largest(size - 1, rank * n + i));
  OK(MPI_Type_free(&type));
  free(out);
  free(in);
}

static void all(MPI_Comm comm) {
  MPI_Datatype type;
  MPI_Op ordered, unordered, larger[2];
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  OK(MPI_Type_contiguous(2, MPI_LONG, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Op_create(compose_op, 0, &ordered));
  OK(MPI_Op_create(add_gapped, 1, &unordered));
  for (int commutes = 0; commutes < 2; ++commutes) OK(MPI_Op_create(take_larger, commutes, &larger[commutes]));
  static const int lengths[] = {0, 1, 7, 100, 2500, 17001};
  for (int s = 0; s < 6; ++s) {
    for (int in_place = 0; in_place < 2; ++in_place, ++form) {
      int n = lengths[s];
      in_order(comm, type, ordered, n, in_place);
      int_sum(comm, n, in_place);
      double_sum(comm, n, in_place);
      long_max(comm, n, in_place);
      float_min(comm, n, in_place);
      unsigned_product(comm, n, in_place);
      bytes_and(comm, n, in_place);
      ints_or(comm, n, in_place);
      shorts_xor(comm, n, in_place);
      logical_and(comm, n, in_place);
      logical_or(comm, n, in_place);
      logical_xor(comm, n, in_place);
    }
    locations(comm, lengths[s]);
    gaps(comm, unordered, lengths[s]);
    for (int turn = 0; turn < 6 && lengths[s] <= 2500; ++turn, ++form) whole_structs(comm, larger[turn % 2], lengths[s]);
  }
  int one = 1, sum = 0;
  OK(MPI_Allreduce_c(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK_INT(size, sum);
  OK(MPI_Op_free(&ordered));
  OK(MPI_Op_free(&unordered));
  for (int commutes = 0; commutes < 2; ++commutes) OK(MPI_Op_free(&larger[commutes]));
  OK(MPI_Type_free(&type));
}

/* Floating-point sums whose value depends on the order: every rank gets the same bits, and so does every repetition. */
static void same_bits(void) {
  static const int lengths[] = {3, 20000};
  for (int s = 0; s < 2; ++s) {
    int n = lengths[s];
    double *out = malloc(sizeof(double) * n), *in = malloc(sizeof(double) * n), *again = malloc(sizeof(double) * n);
    for (int i = 0; i < n; ++i) out[i] = 1.0 / (world_rank * 3 + i + 1) * (i % 2 ? 1e10 : 1e-10);
    OK(MPI_Allreduce(out, in, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Allreduce(out, again, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    CHECK(memcmp(in, again, sizeof(double) * n) == 0);
    OK(MPI_Bcast(again, n, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    CHECK(memcmp(in, again, sizeof(double) * n) == 0);
    free(out);
    free(in);
    free(again);
  }
}

/* Type and operation may be freed while the collective is under way. */
static void freed_early(void) {
  MPI_Datatype type;
  MPI_Op op;
  MPI_Request request;
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Type_contiguous(2, MPI_LONG, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Op_create(compose_op, 0, &op));
  rank = world_rank;
  struct affine out[50], in[50];
  FILL(out, 50);
  OK(MPI_Iallreduce(out, in, 50, type, op, comm, &request));
  OK(MPI_Type_free(&type));
  OK(MPI_Op_free(&op));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_AFFINE(in, 50, 0, world_size - 1, 0);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  on_communicators(all);
  same_bits();
  freed_early();
  return end();
}
