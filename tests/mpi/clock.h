/* Seconds, comparable between the processes of one machine, and no determinant as MPI_Wtime is. */
#ifndef HOLDFAST_TESTS_MPI_CLOCK_H
#define HOLDFAST_TESTS_MPI_CLOCK_H
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#endif
