/* The clock, and the lines that run.py reads: "point LABEL VALUE". */
#ifndef BENCH_POINT_H
#define BENCH_POINT_H

#include <stdio.h>
#include <time.h>

static inline double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void point(const char* label, double value) {
  printf("point %s %.6g\n", label, value);
  fflush(stdout);
}

#endif
