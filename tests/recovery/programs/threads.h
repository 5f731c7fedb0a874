/* What the programs with threads have in common: what a rank sends depends on what its threads did in which order, and at the end each rank
   is told by its neighbour what was sent to it, over all incarnations: so that what a recovered one repeated otherwise is seen. */
#ifndef HOLDFAST_TESTS_RECOVERY_THREADS_H
#define HOLDFAST_TESTS_RECOVERY_THREADS_H
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "program_parts.h"

static int rank, size;
static uint64_t state = 1;             /* of this rank: all that its threads did, in order */
static uint64_t sent = 2, received = 2; /* digests of all messages, in order */

static void toil(unsigned steps) {
  volatile unsigned x = 0;
  for (unsigned i = 0; i < steps; ++i) x += i;
}

static int begin_with_threads(int* argc, char*** argv, int level) {
  int provided;
  MPI_Init_thread(argc, argv, level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return *argc > 1 ? atoi((*argv)[1]) : 200;
}

/* The state goes to the next rank, that of the one before comes. One thread at a time. */
static void pass_on(void) {
  uint64_t in = 0;
  sent = digest_of(sent, state);
  MPI_Sendrecv(&state, 1, MPI_UINT64_T, (rank + 1) % size, 1, &in, 1, MPI_UINT64_T, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  received = digest_of(received, in);
}

static int end_with_threads(int done) {
  uint64_t told = 0;
  int all = 0;
  MPI_Sendrecv(&sent, 1, MPI_UINT64_T, (rank + 1) % size, 2, &told, 1, MPI_UINT64_T, (rank + size - 1) % size, 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  if (told != received) {
    fprintf(stderr, "rank %d: what it received is not what its neighbour says to have sent\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Reduce(&done, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("ok %d\n", all);
  MPI_Finalize();
  return 0;
}
#endif
