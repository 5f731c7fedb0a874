/* The small program that is killed at every one of its MPI calls: most ways to communicate, each a few times, and a result on
   rank 0 that does not depend on the order of messages. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;
static uint64_t state = 1;

static void mix(uint64_t value) { state = (state ^ value) * UINT64_C(0x9e3779b97f4a7c15) + (state >> 31); }

/* Rank 0 takes one message from each other rank in any order. */
static void any_source(void) {
  if (rank == 0) {
    long* got = calloc((size_t)size, sizeof(long));
    for (int i = 1; i < size; ++i) {
      long value;
      MPI_Status status;
      MPI_Recv(&value, 1, MPI_LONG, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
      got[status.MPI_SOURCE] = value;
    }
    for (int i = 1; i < size; ++i) mix((uint64_t)got[i]);
    free(got);
  } else {
    long value = 1000 * rank + (long)(state % 1000);
    MPI_Send(&value, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD);
  }
}

/* Around the ring, non-blocking; the size is beyond the eager limits of the tests. */
static void ring(void) {
  enum { count = 40000 };
  double* out = malloc(count * sizeof(double));
  double* in = malloc(count * sizeof(double));
  for (int i = 0; i < count; ++i) out[i] = (double)(state % 977) + i;
  MPI_Request requests[2];
  MPI_Irecv(in, count, MPI_DOUBLE, (rank + size - 1) % size, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, count, MPI_DOUBLE, (rank + 1) % size, 2, MPI_COMM_WORLD, &requests[1]);
  for (int left = 2; left > 0; --left) {
    int which;
    MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
  }
  uint64_t sum = 0;
  for (int i = 0; i < count; ++i) sum = sum * 31 + (uint64_t)in[i];
  mix(sum);
  free(out);
  free(in);
}

/* A probe decides the size of the receive; a synchronous send answers. */
static void probed(void) {
  const int partner = rank ^ 1;
  if (partner >= size) return;
  if (rank < partner) {
    int numbers[64] = {0};
    for (int i = 0; i < 64; ++i) numbers[i] = (int)(state % 101) + i;
    MPI_Ssend(numbers, 10 + rank, MPI_INT, partner, 3, MPI_COMM_WORLD);
  } else {
    MPI_Status status;
    int count, numbers[64];
    MPI_Probe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_Recv(numbers, count, MPI_INT, status.MPI_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i) mix((uint64_t)numbers[i]);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < 2; ++round) {
    any_source();
    ring();
    probed();
    uint64_t all;
    MPI_Allreduce(&state, &all, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
    mix(all);
  }
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Barrier(copy);
  uint64_t states[64];
  MPI_Gather(&state, 1, MPI_UINT64_T, states, 1, MPI_UINT64_T, 0, copy);
  if (rank == 0) {
    for (int i = 0; i < size; ++i) printf("rank %d: %016llx\n", i, (unsigned long long)states[i]);
  }
  MPI_Comm_free(&copy);
  MPI_Finalize();
  return 0;
}
