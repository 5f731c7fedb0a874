/* groups [WORK]: WORK / ranks^2 steps, at least one, in each of which two groups of ranks talk through an intercommunicator and
   make new communicators of it. What is printed does not depend on the order of messages, but on what everyone received and
   in which communicator. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int world_rank, world_size;
static uint64_t state = 1;

static void mix(uint64_t value) { state = (state ^ value) * UINT64_C(0x9e3779b97f4a7c15) + (state >> 31); }

static int side_of(int rank, int step) {
  return step % 3 == 0 ? rank % 2 : step % 3 == 1 ? rank >= world_size / 2 : rank == step % world_size;
}

/* The leaders are others in each step, too. */
static MPI_Comm join_groups(int step) {
  MPI_Comm local, inter;
  int side = side_of(world_rank, step), size, members[2] = {0, 0}, chosen[2];
  MPI_Comm_split(MPI_COMM_WORLD, side, world_rank, &local);
  MPI_Comm_size(local, &size);
  for (int r = 0; r < world_size; ++r) ++members[side_of(r, step)];
  for (int s = 0; s < 2; ++s) {
    int at = step % members[s];
    for (int r = 0; r < world_size; ++r) {
      if (side_of(r, step) == s && at-- == 0) chosen[s] = r;
    }
  }
  MPI_Intercomm_create(local, step % size, MPI_COMM_WORLD, chosen[!side], step % 7, &inter);
  MPI_Comm_free(&local);
  return inter;
}

/* Rank 0 of each group takes one message from each of the other, in any order. */
static void any_source(MPI_Comm inter, int rank, int remote_size) {
  long out = (long)(state % 1000003), *got = calloc((size_t)remote_size, sizeof(long));
  MPI_Request sending;
  MPI_Isend(&out, 1, MPI_LONG, 0, 5, inter, &sending);
  for (int i = 0; rank == 0 && i < remote_size; ++i) {
    long value;
    MPI_Status status;
    MPI_Recv(&value, 1, MPI_LONG, MPI_ANY_SOURCE, 5, inter, &status);
    got[status.MPI_SOURCE] = value;
  }
  for (int i = 0; i < remote_size; ++i) mix((uint64_t)got[i]);
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  free(got);
}

/* With everyone of the other group, beyond the limit of a ring's frames. */
static void exchange(MPI_Comm inter, int remote_size) {
  enum { COUNT = 3000 };
  double* out = malloc(COUNT * sizeof(double));
  double* in = malloc((size_t)remote_size * COUNT * sizeof(double));
  MPI_Request* requests = malloc(2 * (size_t)remote_size * sizeof(MPI_Request));
  for (int i = 0; i < COUNT; ++i) out[i] = (double)(state % 977) + i;
  for (int r = 0; r < remote_size; ++r) {
    MPI_Irecv(in + (size_t)r * COUNT, COUNT, MPI_DOUBLE, r, 6, inter, &requests[2 * r]);
    MPI_Isend(out, COUNT, MPI_DOUBLE, r, 6, inter, &requests[2 * r + 1]);
  }
  for (int left = 2 * remote_size; left > 0; --left) {
    int which;
    MPI_Waitany(2 * remote_size, requests, &which, MPI_STATUS_IGNORE);
  }
  uint64_t sum = 0;
  for (int i = 0; i < remote_size * COUNT; ++i) sum = sum * 31 + (uint64_t)in[i];
  mix(sum);
  free(out);
  free(in);
  free(requests);
}

/* Some of the collectives in both directions; one is waited for by tests, one started again and again. */
static void collectives(MPI_Comm inter, int rank, int remote_size, int first) {
  long mine = (long)(state % 65537), sum, all[64];
  int flag = 0, root = first ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
  long told = mine;
  MPI_Request request;
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, inter);
  mix((uint64_t)sum);
  MPI_Iallgather(&mine, 1, MPI_LONG, all, 1, MPI_LONG, inter, &request);
  while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  for (int i = 0; i < remote_size; ++i) mix((uint64_t)all[i]);
  MPI_Allreduce_init(&mine, &sum, 1, MPI_LONG, MPI_BXOR, inter, MPI_INFO_NULL, &request);
  for (int i = 0; i < 2; ++i) {
    mine += 4 + i;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    mix((uint64_t)sum);
  }
  MPI_Request_free(&request);
  MPI_Bcast(&told, 1, MPI_LONG, root, inter);
  mix((uint64_t)told);
  MPI_Reduce(&mine, &sum, 1, MPI_LONG, MPI_MAX, root, inter);
  if (root == MPI_ROOT) mix((uint64_t)sum);
}

/* New communicators: one duplicated while a collective of the old one is under way, pairs, all as one group. */
static void derived(MPI_Comm inter, int rank, int remote_size, int first) {
  MPI_Comm copy, pair, merged, node;
  MPI_Request requests[2];
  long mine = (long)(state % 4099), got = 0, sum = 0;
  int size;
  MPI_Comm_idup(inter, &copy, &requests[0]);
  MPI_Iallreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, inter, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  mix((uint64_t)sum);
  MPI_Comm_split(copy, rank, 0, &pair);
  if (pair != MPI_COMM_NULL) {
    MPI_Sendrecv(&mine, 1, MPI_LONG, 0, 7, &got, 1, MPI_LONG, 0, 7, pair, MPI_STATUS_IGNORE);
    mix((uint64_t)got + (uint64_t)remote_size);
    MPI_Comm_free(&pair);
  }
  MPI_Comm_free(&copy);
  MPI_Intercomm_merge(inter, !first, &merged);
  MPI_Comm_split_type(merged, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &size);
  mix((uint64_t)size);
  MPI_Comm_free(&node);
  mine = (long)(state % 4099);
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, merged);
  mix((uint64_t)sum);
  MPI_Comm_free(&merged);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  mix((uint64_t)world_rank);
  const int work = argc > 1 ? atoi(argv[1]) : 0, steps = work / (world_size * world_size);
  for (int step = 0; step == 0 || step < steps; ++step) {
    int rank, remote_size, first = side_of(world_rank, step) == 0;
    MPI_Comm inter = join_groups(step);
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_remote_size(inter, &remote_size);
    any_source(inter, rank, remote_size);
    exchange(inter, remote_size);
    collectives(inter, rank, remote_size, first);
    derived(inter, rank, remote_size, first);
    MPI_Comm_free(&inter);
  }
  uint64_t digests[64];
  MPI_Gather(&state, 1, MPI_UINT64_T, digests, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  for (int r = 0; world_rank == 0 && r < world_size; ++r) printf("%d %016llx\n", r, (unsigned long long)digests[r]);
  MPI_Finalize();
  return 0;
}
