/* Reductions by operations of the program's own, which call MPI, print and lock nothing but count, in collectives that do not block; messages and
   local calls between start and completion. Then sums of doubles while the program changes how they are rounded. Rank 0 prints all of it, and the others
   give it theirs in the end: a rank that came back has the same.

   operations ROUNDS MICROSECONDS */
#include <fenv.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { n = 5, rounds_max = 1000 };

static int self, size;
static uint64_t applied, applied_last, digest = 14695981039346656037u;

static void note(uint64_t value) { digest = (digest ^ value) * 1099511628211u; }

/* x, y -> the composition of two affine functions modulo 2^64: associative, not commutative. */
static void compose(void *in, void *inout, int *length, MPI_Datatype *type) {
  const uint64_t *a = in;
  uint64_t *b = inout;
  int bytes = 0;
  MPI_Type_size(*type, &bytes);
  for (int i = 0; i < *length; ++i, a += 2, b += 2) {
    const uint64_t factor = a[0] * b[0], sum = a[0] * b[1] + a[1];
    b[0] = factor;
    b[1] = sum;
  }
  double now = MPI_Wtime();
  memcpy(&applied_last, &now, sizeof now);
  note(++applied + (uint64_t)bytes);
  if (self == 0 && applied % 10 == 0) {
    printf("operation %llu\n", (unsigned long long)applied);
    fflush(stdout);
  }
}

static uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  return (x ^ (x >> 27)) * 0x94d049bb133111ebu;
}

static void fill(uint64_t *data, int count, int round) {
  for (int i = 0; i < 2 * count; ++i) data[i] = mixed((uint64_t)(round * 1000 + self * 100 + i)) | 1;
}

static void note_all(const uint64_t *data, int count) {
  for (int i = 0; i < 2 * count; ++i) note(data[i]);
}

static void pass_round(int round) {
  int mine = round + self, theirs = 0;
  MPI_Sendrecv(&mine, 1, MPI_INT, (self + 1) % size, 7, &theirs, 1, MPI_INT, (self + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  note((uint64_t)theirs);
}

/* Another one in a replay, if the reads of the clock come in another order. */
static void pass_time(void) {
  double mine = MPI_Wtime(), theirs = 0;
  MPI_Sendrecv(&mine, 1, MPI_DOUBLE, (self + 1) % size, 8, &theirs, 1, MPI_DOUBLE, (self + size - 1) % size, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void own_operations(int round, MPI_Datatype pair, MPI_Op op, MPI_Request persistent, uint64_t *persistent_out, unsigned pause) {
  uint64_t in[16 * 2 * n], all[2 * n], prefix[2 * n], at_root[2 * n], block[2 * n];
  MPI_Request requests[4];
  fill(in, size * n, round);
  memset(prefix, 0, sizeof prefix);
  memset(at_root, 0, sizeof at_root);
  MPI_Iallreduce(in, all, n, pair, op, MPI_COMM_WORLD, &requests[0]);
  MPI_Iscan(in, prefix, n, pair, op, MPI_COMM_WORLD, &requests[1]);
  MPI_Ireduce(in, at_root, n, pair, op, round % size, MPI_COMM_WORLD, &requests[2]);
  MPI_Ireduce_scatter_block(in, block, n, pair, op, MPI_COMM_WORLD, &requests[3]);
  MPI_Start(&persistent);
  pass_round(round);
  pass_time();
  usleep(pause);
  int done = 0, bytes = 0;
  MPI_Testall(4, requests, &done, MPI_STATUSES_IGNORE);
  MPI_Type_size(pair, &bytes);
  pass_round(round + 1);
  pass_time();
  for (int i = 0; i < 4; ++i) {
    int which = i;
    if (!done) MPI_Waitany(4, requests, &which, MPI_STATUS_IGNORE);
    note((uint64_t)which);
    pass_round(which);
  }
  MPI_Wait(&persistent, MPI_STATUS_IGNORE);
  note_all(all, n);
  note_all(prefix, n);
  note_all(at_root, n);
  note_all(block, n);
  note_all(persistent_out, n);
}

static void sums_while_rounding_changes(int round, unsigned pause) {
  double in[n], sum[n];
  for (int i = 0; i < n; ++i) in[i] = 1.0 / (3 + self + i + round);
  MPI_Request request;
  MPI_Iallreduce(in, sum, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  fesetround(FE_UPWARD);
  int done = 0;
  for (int i = 0; i < 3 && !done; ++i) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    usleep(pause / 4);
  }
  fesetround(FE_DOWNWARD);
  pass_round(round);
  if (!done) MPI_Wait(&request, MPI_STATUS_IGNORE);
  fesetround(FE_TONEAREST);
  uint64_t bits[n];
  memcpy(bits, sum, sizeof bits);
  for (int i = 0; i < n; ++i) note(bits[i]);
  if (self == 0) printf("round %d sum %016llx\n", round, (unsigned long long)bits[0]);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 20;
  const unsigned pause = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
  if (size > 16 || rounds > rounds_max) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_UINT64_T, &pair);
  MPI_Type_commit(&pair);
  MPI_Op op;
  MPI_Op_create(compose, 0, &op);
  uint64_t in[2 * n], out[2 * n] = {0};
  fill(in, n, -1);
  MPI_Request persistent;
  MPI_Exscan_init(in, out, n, pair, op, MPI_COMM_WORLD, MPI_INFO_NULL, &persistent);
  for (int round = 0; round < rounds; ++round) {
    own_operations(round, pair, op, persistent, out, pause);
    sums_while_rounding_changes(round, pause);
  }
  MPI_Request_free(&persistent);
  MPI_Op_free(&op);
  MPI_Type_free(&pair);
  uint64_t mine[2] = {applied, rounds > 0 ? digest : 0}, theirs[32];
  MPI_Gather(mine, 2, MPI_UINT64_T, theirs, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  for (int i = 0; self == 0 && i < size; ++i) printf("rank %d: %llu operations\n", i, (unsigned long long)theirs[2 * i]);
  MPI_Finalize();
  return 0;
}
