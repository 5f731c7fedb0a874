/* Topologies, neighbourhood collectives and persistent collectives, to be killed at every MPI call: grids and graphs are made
   and freed, persistent requests are started in an order of each rank's own and found complete in any, and rank 0 prints a
   result that does not depend on either. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LONG 30000 /* ints, beyond the eager limits of the tests */

static int rank, size;
static uint64_t state = 1;

static void mix(uint64_t value) { state = (state ^ value) * UINT64_C(0x9e3779b97f4a7c15) + (state >> 31); }

/* To both sides of a ring that is a grid, and to itself in its other dimension; a message longer than the other. */
static void grid(void) {
  const int dims[2] = {size, 1}, periods[2] = {1, 1}, counts[4] = {LONG, 7, 1, 0}, displs[4] = {0, LONG, LONG + 7, 0};
  const int in_counts[4] = {7, LONG, 0, 1}, in_displs[4] = {0, 7, 0, LONG + 7};
  MPI_Comm comm, row;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm);
  int *out = malloc(sizeof(int) * (LONG + 8)), *in = malloc(sizeof(int) * (LONG + 8));
  for (int i = 0; i < LONG + 8; ++i) out[i] = (int)(state % 9973) + i;
  MPI_Neighbor_alltoallv(out, counts, displs, MPI_INT, in, in_counts, in_displs, MPI_INT, comm);
  for (int i = 0; i < LONG + 8; ++i) mix((uint64_t)in[i]);
  const int remain[2] = {1, 0};
  MPI_Cart_sub(comm, remain, &row);
  int around[2];
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, around, 1, MPI_INT, row);
  mix((uint64_t)(around[0] * 64 + around[1]));
  MPI_Comm_free(&row);
  MPI_Comm_free(&comm);
  free(out);
  free(in);
}

/* Each rank tells the edges of the next; two between each pair. */
static void graph(void) {
  const int source = (rank + 1) % size, degree = 2, destinations[2] = {(rank + 2) % size, (rank + 2) % size};
  const int weights[2] = {rank, 100 + rank};
  MPI_Comm comm;
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, destinations, weights, MPI_INFO_NULL, 0, &comm);
  int sources[2], told[2], targets[2], in_weights[2];
  MPI_Dist_graph_neighbors(comm, 2, sources, in_weights, 2, targets, told);
  uint64_t out[2] = {state, state + 1}, in[2];
  MPI_Request request;
  MPI_Ineighbor_alltoall(out, 1, MPI_UINT64_T, in, 1, MPI_UINT64_T, comm, &request);
  for (int done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  for (int i = 0; i < 2; ++i) mix(in[i] + (uint64_t)(in_weights[i] * 1000 + told[i]));
  MPI_Comm_free(&comm);
}

static void persistent(void) {
  enum { n = 3 };
  MPI_Request requests[n], started[n];
  int *all = malloc(sizeof(int) * LONG), *sum = malloc(sizeof(int) * LONG), list[64], mine = 0;
  uint64_t smallest = 0;
  MPI_Allreduce_init(all, sum, LONG, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Allgather_init(&mine, 1, MPI_INT, list, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Allreduce_init(&state, &smallest, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < LONG; ++i) all[i] = (int)(state % 499) + i;
    mine = rank * 100 + round;
    for (int i = 0; i < n; ++i) started[i] = requests[(rank + round + i) % n];
    if (round == 1) MPI_Startall(n, started);
    for (int i = 0; i < n && round != 1; ++i) MPI_Start(&started[i]);
    for (int left = n; left > 0; --left) {
      int which;
      MPI_Waitany(n, started, &which, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < LONG; ++i) mix((uint64_t)sum[i]);
    for (int i = 0; i < size; ++i) mix((uint64_t)list[i]);
    mix(smallest);
  }
  for (int i = 0; i < n; ++i) MPI_Request_free(&requests[i]);
  free(all);
  free(sum);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  mix((uint64_t)rank);
  grid();
  graph();
  persistent();
  uint64_t states[64];
  MPI_Gather(&state, 1, MPI_UINT64_T, states, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    for (int i = 0; i < size; ++i) printf("rank %d: %016llx\n", i, (unsigned long long)states[i]);
  }
  MPI_Finalize();
  return 0;
}
