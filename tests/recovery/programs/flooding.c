/* flooding SECONDS: rank 0 reads two clocks in turn, each of whose values is an event, as fast as it can; then all go on. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  const double wanted = argc > 1 ? atof(argv[1]) : 1;
  int rank, size;
  double all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double start = seconds_of(CLOCK_MONOTONIC);
  double wall = seconds_of(CLOCK_REALTIME);
  while (rank == 0 && seconds_of(CLOCK_MONOTONIC) - start < wanted) wall = seconds_of(CLOCK_REALTIME);
  double sent = rank == 0 ? wall : 1;
  MPI_Reduce(&sent, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("ok %d\n", all == wall + size - 1);
  MPI_Finalize();
  return 0;
}
