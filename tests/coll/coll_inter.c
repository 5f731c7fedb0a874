/* Collectives of intercommunicators: both groups, every root, sizes on both sides of each threshold, types with gaps,
 * operations that do not commute. */
#include "../mpi/inter.h"
#include "coll.h"

#define NO_TYPE MPI_DATATYPE_NULL

static int rank, size, remote_size, side; /* side: 0 in the group with world rank 0 */
static MPI_Comm comm;

static void take(MPI_Comm inter) {
  MPI_Group world, local;
  int first;
  comm = inter;
  OK(MPI_Comm_rank(inter, &rank));
  OK(MPI_Comm_size(inter, &size));
  OK(MPI_Comm_remote_size(inter, &remote_size));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Comm_group(inter, &local));
  OK(MPI_Group_translate_ranks(world, 1, (int[]){0}, local, &first));
  side = first == MPI_UNDEFINED;
  OK(MPI_Group_free(&world));
  OK(MPI_Group_free(&local));
}

/* Names of the ranks of the two groups, for the contents of blocks. */
static int here(int r) { return 100 * side + r; }
static int there(int r) { return 100 * !side + r; }

/* For each side as the root's, and each root of it: what to pass as root. */
static void rooted(void (*test)(int root, int root_name, int n, int gaps)) {
  for (int giver = 0; giver < 2; ++giver) {
    const int roots = giver == side ? size : remote_size;
    for (int root = 0; root < roots; ++root) {
      for (int i = 0; i < N_SIZES; ++i) {
        const int pass = giver != side ? root : root == rank ? MPI_ROOT : MPI_PROC_NULL;
        test(pass, 100 * giver + root, sizes[i], (i + root) % 2);
      }
    }
  }
}

static void bcast(int root, int name, int n, int gaps) {
  int stride;
  MPI_Datatype type = layout(gaps, &stride);
  int* data = blank(n, stride);
  if (root == MPI_ROOT) put(data, n, stride, name, 0);
  if (root == MPI_PROC_NULL) COLLECTIVE(Bcast, Ibcast, NULL, 0, NO_TYPE, root, comm);
  else COLLECTIVE(Bcast, Ibcast, data, n, type, root, comm);
  if (root != MPI_PROC_NULL) CHECK_BLOCK(data, n, stride, name, 0);
  free(data);
}

static void gather(int root, int name, int n, int gaps) {
  int stride;
  MPI_Datatype type = layout(gaps, &stride);
  const int at_root = root == MPI_ROOT;
  int *own = blank(n, stride), *all = at_root ? blank(n * remote_size, stride) : NULL;
  put(own, n, stride, here(rank), name);
  if (at_root) COLLECTIVE(Gather, Igather, NULL, -1, NO_TYPE, all, n, type, root, comm);
  else if (root == MPI_PROC_NULL) COLLECTIVE(Gather, Igather, NULL, 0, NO_TYPE, NULL, 0, NO_TYPE, root, comm);
  else COLLECTIVE(Gather, Igather, own, n, type, NULL, -1, NO_TYPE, root, comm);
  for (int r = 0; at_root && r < remote_size; ++r)
    CHECK_BLOCK(all + (size_t)r * n * stride, n, stride, there(r), name);
  free(own);
  free(all);
}

static void scatter(int root, int name, int n, int gaps) {
  int stride;
  MPI_Datatype type = layout(gaps, &stride);
  const int at_root = root == MPI_ROOT, leaf = root >= 0;
  int *own = blank(n, stride), *all = at_root ? blank(n * remote_size, stride) : NULL;
  for (int r = 0; at_root && r < remote_size; ++r) put(all + (size_t)r * n * stride, n, stride, name, there(r));
  if (at_root) COLLECTIVE(Scatter, Iscatter, all, n, type, NULL, -1, NO_TYPE, root, comm);
  else COLLECTIVE(Scatter, Iscatter, NULL, -1, NO_TYPE, own, leaf ? n : -1, leaf ? type : NO_TYPE, root, comm);
  if (leaf) CHECK_BLOCK(own, n, stride, name, here(rank));
  free(own);
  free(all);
}

/* Rank r's block has n / 8 + r elements, and one element lies free between two blocks; from the last rank down. */
static int length(int r, int n) { return n / 8 + r; }
static int places(int ranks, int n, int* counts, int* displs) {
  int at = 0;
  for (int r = ranks - 1; r >= 0; --r) {
    counts[r] = length(r, n);
    displs[r] = at;
    at += counts[r] + 1;
  }
  return at;
}

static void vectors(int root, int name, int n, int gaps) {
  enum { MAX = 64 };
  int counts[MAX], displs[MAX], stride, total = places(remote_size, n, counts, displs), mine = length(rank, n);
  MPI_Datatype type = layout(gaps, &stride);
  int *own = blank(mine, stride), *all = blank(total, stride);
  const int at_root = root == MPI_ROOT, leaf = root >= 0;
  put(own, mine, stride, here(rank), name);
  if (at_root) COLLECTIVE(Gatherv, Igatherv, NULL, 0, NO_TYPE, all, counts, displs, type, root, comm);
  else COLLECTIVE(Gatherv, Igatherv, own, mine, leaf ? type : NO_TYPE, NULL, NULL, NULL, NO_TYPE, root, comm);
  for (int r = 0; at_root && r < remote_size; ++r) {
    CHECK_BLOCK(all + (size_t)displs[r] * stride, counts[r], stride, there(r), name);
    CHECK_INT(-1, all[(size_t)(displs[r] + counts[r]) * stride]);
    put(all + (size_t)displs[r] * stride, counts[r], stride, name, there(r));
  }
  if (at_root) COLLECTIVE(Scatterv, Iscatterv, all, counts, displs, type, NULL, 0, NO_TYPE, root, comm);
  else COLLECTIVE(Scatterv, Iscatterv, NULL, NULL, NULL, NO_TYPE, own, mine, leaf ? type : NO_TYPE, root, comm);
  if (leaf) CHECK_BLOCK(own, mine, stride, name, here(rank));
  free(own);
  free(all);
}

/* 2 x 2 matrices under multiplication, modulo a prime: associative, and the order shows. */
static void multiply(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (unsigned *a = in, *b = inout, *end = a + 4 * *n; a < end; a += 4, b += 4) {
    unsigned c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                     a[2] * b[1] + a[3] * b[3]};
    for (int i = 0; i < 4; ++i) b[i] = c[i] % 9973;
  }
}
static MPI_Op matrix_op = MPI_OP_NULL;
static MPI_Datatype matrix = MPI_DATATYPE_NULL;
static void matrix_of(int name, int i, unsigned* m) {
  for (int k = 0; k < 4; ++k) m[k] = (unsigned)(name * 7 + i * 3 + k * k + 1) % 9973;
}
static unsigned* matrices(int name, int n) {
  unsigned* all = malloc(sizeof(unsigned) * 4 * (size_t)(n + 1));
  for (int i = 0; i < n; ++i) matrix_of(name, i, all + 4 * (size_t)i);
  return all;
}
/* Element i of the product over the ranks of the other group (or of one's own) is this. */
static void check_product(const unsigned* got, int of_side, int ranks, int i, int line) {
  unsigned expected[4], left[4];
  int one = 1;
  matrix_of(100 * of_side + ranks - 1, i, expected);
  for (int r = ranks - 2; r >= 0; --r) {
    matrix_of(100 * of_side + r, i, left);
    multiply(left, expected, &one, NULL);
  }
  for (int k = 0; k < 4; ++k) {
    if (got[k] == expected[k]) continue;
    fprintf(stderr, "rank %d: line %d: matrix %d is wrong\n", world_rank, line, i);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
}

static void reduce(int root, int name, int n, int gaps) {
  int stride, giver = name / 100;
  const int at_root = root == MPI_ROOT;
  MPI_Datatype type = layout(gaps, &stride);
  int *own = blank(n, stride), *sum = blank(n, stride);
  put(own, n, stride, here(rank), 0);
  if (!gaps) { /* predefined operations are for predefined types */
    if (root == MPI_PROC_NULL) COLLECTIVE(Reduce, Ireduce, NULL, NULL, 0, NO_TYPE, MPI_SUM, root, comm);
    else COLLECTIVE(Reduce, Ireduce, at_root ? NULL : own, at_root ? sum : NULL, n, type, MPI_SUM, root, comm);
    for (int i = 0; at_root && i < n; ++i) {
      int expected = 0;
      for (int r = 0; r < remote_size; ++r) expected += value(there(r), 0, i);
      CHECK_INT(expected, sum[i]);
    }
  } else {
    unsigned *mine = matrices(here(rank), n / 4), *product = matrices(0, n / 4);
    COLLECTIVE(Reduce, Ireduce, mine, product, n / 4, matrix, matrix_op, root, comm);
    for (int i = 0; at_root && i < n / 4; ++i) check_product(product + 4 * i, !giver, remote_size, i, __LINE__);
    free(mine);
    free(product);
  }
  free(own);
  free(sum);
}

static void allgather(int n, int gaps) {
  enum { MAX = 64 };
  int stride, counts[MAX], displs[MAX], total = places(remote_size, n, counts, displs), mine = length(rank, n);
  MPI_Datatype type = layout(gaps, &stride);
  int *own = blank(n + size, stride), *all = blank(n * remote_size + total, stride);
  put(own, n, stride, here(rank), 0);
  COLLECTIVE(Allgather, Iallgather, own, n, type, all, n, type, comm);
  for (int r = 0; r < remote_size; ++r) CHECK_BLOCK(all + (size_t)r * n * stride, n, stride, there(r), 0);
  put(own, mine, stride, here(rank), 1);
  for (size_t i = 0; i < (size_t)(n * remote_size + total) * stride; ++i) all[i] = -1;
  COLLECTIVE(Allgatherv, Iallgatherv, own, mine, type, all, counts, displs, type, comm);
  for (int r = 0; r < remote_size; ++r) {
    CHECK_BLOCK(all + (size_t)displs[r] * stride, counts[r], stride, there(r), 1);
    CHECK_INT(-1, all[(size_t)(displs[r] + counts[r]) * stride]);
  }
  /* one group gives nothing */
  const int sent = side ? n : 0, got = side ? 0 : n;
  put(own, n, stride, here(rank), 2);
  COLLECTIVE(Allgather, Iallgather, own, sent, type, all, got, type, comm);
  for (int r = 0; r < remote_size; ++r) CHECK_BLOCK(all + (size_t)r * got * stride, got, stride, there(r), 2);
  free(own);
  free(all);
}

static void alltoall(int n, int gaps) {
  enum { MAX = 64 };
  int stride, counts[2][MAX], displs[2][MAX];
  MPI_Datatype type = layout(gaps, &stride), types[MAX];
  int *out = blank((n + 100) * remote_size, stride), *in = blank((n + 100) * remote_size, stride);
  for (int r = 0; r < remote_size; ++r) put(out + (size_t)r * n * stride, n, stride, here(rank), there(r));
  COLLECTIVE(Alltoall, Ialltoall, out, n, type, in, n, type, comm);
  for (int r = 0; r < remote_size; ++r) CHECK_BLOCK(in + (size_t)r * n * stride, n, stride, there(r), here(rank));
  for (int kind = 0; kind < 2; ++kind) { /* alltoallv and alltoallw: n / 8 and both ranks elements, none for some */
    const int unit = kind ? 4 * stride : 1;
    for (int r = 0; r < remote_size; ++r) {
      const int length = (rank + r) % 3 == 2 ? 0 : n / 8 + rank + r;
      types[r] = type;
      for (int d = 0; d < 2; ++d) {
        counts[d][r] = length;
        displs[d][r] = (r * (n / 8 + 100) + d) * unit;
      }
      put(out + (size_t)(displs[0][r] / unit) * stride, length, stride, here(rank), there(r));
    }
    for (size_t i = 0; i < (size_t)(n + 100) * remote_size * stride; ++i) in[i] = -1;
    if (kind) COLLECTIVE(Alltoallw, Ialltoallw, out, counts[0], displs[0], types, in, counts[1], displs[1], types, comm);
    else COLLECTIVE(Alltoallv, Ialltoallv, out, counts[0], displs[0], type, in, counts[1], displs[1], type, comm);
    for (int r = 0; r < remote_size; ++r) {
      CHECK_BLOCK(in + (size_t)(displs[1][r] / unit) * stride, counts[1][r], stride, there(r), here(rank));
      CHECK_INT(-1, in[(size_t)(displs[1][r] / unit + counts[1][r]) * stride]);
    }
  }
  free(out);
  free(in);
}

static void allreduce(int n) {
  int *own = blank(n, 1), *sum = blank(n, 1);
  put(own, n, 1, here(rank), 0);
  COLLECTIVE(Allreduce, Iallreduce, own, sum, n, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < n; ++i) {
    int expected = 0;
    for (int r = 0; r < remote_size; ++r) expected += value(there(r), 0, i);
    CHECK_INT(expected, sum[i]);
  }
  unsigned *mine = matrices(here(rank), n / 4), *product = matrices(0, n / 4);
  COLLECTIVE(Allreduce, Iallreduce, mine, product, n / 4, matrix, matrix_op, comm);
  for (int i = 0; i < n / 4; ++i) check_product(product + 4 * i, !side, remote_size, i, __LINE__);
  free(mine);
  free(product);
  free(own);
  free(sum);
}

/* The number of elements is a multiple of both groups' sizes. */
static void reduce_scatter(int n) {
  enum { MAX = 64 };
  const int total = n / 8 * size * remote_size, block = total / size;
  int counts[MAX], first = 0;
  unsigned *mine = matrices(here(rank), total), *part = matrices(0, total);
  COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, mine, part, block, matrix, matrix_op, comm);
  for (int i = 0; i < block; ++i) check_product(part + 4 * i, !side, remote_size, rank * block + i, __LINE__);
  for (int r = 0; r < size; ++r) { /* the first rank gives to the last */
    counts[r] = block + (size == 1 ? 0 : r == 0 ? -block / 2 : r == size - 1 ? block / 2 : 0);
    if (r < rank) first += counts[r];
  }
  COLLECTIVE(Reduce_scatter, Ireduce_scatter, mine, part, counts, matrix, matrix_op, comm);
  for (int i = 0; i < counts[rank]; ++i) check_product(part + 4 * i, !side, remote_size, first + i, __LINE__);
  free(mine);
  free(part);
}

/* Many at once, completed in another order in each rank. */
static void concurrent(void) {
  enum { N = 12 };
  int in[N], out[N], all[64 * N];
  MPI_Request requests[2 * N + 1];
  for (int i = 0; i < N; ++i) {
    out[i] = value(here(rank), 0, i);
    OK(MPI_Iallreduce(&out[i], &in[i], 1, MPI_INT, MPI_MAX, comm, &requests[2 * i]));
    OK(MPI_Iallgather(&out[i], 1, MPI_INT, &all[64 * i], 1, MPI_INT, comm, &requests[2 * i + 1]));
  }
  OK(MPI_Ibarrier(comm, &requests[2 * N]));
  for (int i = 0; i <= 2 * N; ++i) OK(MPI_Wait(&requests[world_rank % 2 ? 2 * N - i : i], MPI_STATUS_IGNORE));
  for (int i = 0; i < N; ++i) {
    int most = -1;
    for (int r = 0; r < remote_size; ++r) {
      CHECK_INT(value(there(r), 0, i), all[64 * i + r]);
      if (value(there(r), 0, i) > most) most = value(there(r), 0, i);
    }
    CHECK_INT(most, in[i]);
  }
}

/* Nobody leaves before all of the other group have come: a message sent before is there. */
static void barrier(void) {
  int flag, got = 0;
  for (int round = 0; round < 3; ++round) {
    MPI_Request request;
    if (rank == 0) OK(MPI_Issend(&round, 1, MPI_INT, 0, 9, comm, &request));
    COLLECTIVE(Barrier, Ibarrier, comm);
    if (rank != 0) continue;
    OK(MPI_Probe(0, 9, comm, MPI_STATUS_IGNORE));
    OK(MPI_Iprobe(0, 9, comm, &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
    OK(MPI_Recv(&got, 1, MPI_INT, 0, 9, comm, MPI_STATUS_IGNORE));
    CHECK_INT(round, got);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
}

static void refused(void) {
  int a[64] = {0}, b[64];
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  FAILS(MPI_ERR_ROOT, MPI_Bcast(a, 1, MPI_INT, remote_size, comm));
  FAILS(MPI_ERR_ROOT, MPI_Bcast(a, 1, MPI_INT, -7, comm));
  FAILS(MPI_ERR_COMM, MPI_Scan(a, b, 1, MPI_INT, MPI_SUM, comm));
  FAILS(MPI_ERR_COMM, MPI_Exscan(a, b, 1, MPI_INT, MPI_SUM, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Allreduce(MPI_IN_PLACE, b, 1, MPI_INT, MPI_SUM, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, comm));
  FAILS(MPI_ERR_COUNT, MPI_Bcast(a, -1, MPI_INT, 0, comm));
}

static void test(MPI_Comm inter) {
  take(inter);
  barrier();
  rooted(bcast);
  rooted(gather);
  rooted(scatter);
  rooted(vectors);
  rooted(reduce);
  for (int i = 0; i < N_SIZES; ++i) {
    allgather(sizes[i], i % 2);
    alltoall(sizes[i] / 4, i % 2);
    allreduce(sizes[i]);
    reduce_scatter(sizes[i] / 4);
  }
  concurrent();
  refused();
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  OK(MPI_Op_create(multiply, 0, &matrix_op));
  OK(MPI_Type_contiguous(4, MPI_UNSIGNED, &matrix));
  OK(MPI_Type_commit(&matrix));
  on_intercommunicators(test);
  OK(MPI_Type_free(&matrix));
  OK(MPI_Op_free(&matrix_op));
  return end();
}
