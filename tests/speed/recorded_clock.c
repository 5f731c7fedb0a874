/* recorded_clock [READS]: what reading a clock takes, one over and over, and two in turn, in ns. With the recorder and without
   (--record-libc no), in turn, on two ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double ns_a_read(int reads, clockid_t even, clockid_t odd) {
  struct timespec begin, end, t;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int i = 0; i < reads; ++i) clock_gettime(i % 2 ? odd : even, &t);
  clock_gettime(CLOCK_MONOTONIC, &end);
  return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / reads;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, reads = argc > 1 ? atoi(argv[1]) : 500000;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double one = ns_a_read(reads, CLOCK_MONOTONIC, CLOCK_MONOTONIC), two = ns_a_read(reads, CLOCK_MONOTONIC, CLOCK_REALTIME);
  if (rank == 0) printf("one clock %.1f ns, two in turn %.1f ns\n", one, two);
  MPI_Finalize();
  return 0;
}
