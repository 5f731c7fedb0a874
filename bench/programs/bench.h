/* What the benchmark programs share: a clock, medians, words from rank 0 to the others, and the lines that run.py reads:
   "point LABEL VALUE". Plain C11 on any MPI.

   Words among ranks are messages of WORD_BYTES with a named source: a logging that breaks on messages of up to 256 bytes, or
   on any-source receives (Open MPI's own), can still be measured on the others. The clock is not MPI_Wtime, which a message
   logging has to record. */
#ifndef BENCH_H
#define BENCH_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "point.h"

enum { WORD_BYTES = 512, WORD_TAG = 7, BATCHES_MAX = 10000 };

static inline void fail(const char* what) {
  fprintf(stderr, "bench: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 2);
  exit(2);
}

/* The own rank, in a job of two. */
static inline int rank_of_two(void) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) fail("needs two ranks");
  return rank;
}

/* Page-aligned and touched. */
static inline char* buffer(size_t bytes) {
  void* memory = NULL;
  if (posix_memalign(&memory, 4096, bytes ? bytes : 1)) fail("out of memory");
  memset(memory, 1, bytes ? bytes : 1);
  return (char*)memory;
}

static inline int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static inline double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Rank 0's number, in every rank. */
static inline long told(long number) {
  char word[WORD_BYTES] = {0};
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  memcpy(word, &number, sizeof number);
  if (rank > 0) {
    MPI_Recv(word, WORD_BYTES, MPI_CHAR, 0, WORD_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    memcpy(&number, word, sizeof number);
    return number;
  }
  for (int r = 1; r < size; ++r) MPI_Send(word, WORD_BYTES, MPI_CHAR, r, WORD_TAG, MPI_COMM_WORLD);
  return number;
}

/* At rank 0: the largest of all ranks' numbers. */
static inline double largest(double number) {
  char word[WORD_BYTES] = {0};
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  memcpy(word, &number, sizeof number);
  if (rank > 0) MPI_Send(word, WORD_BYTES, MPI_CHAR, 0, WORD_TAG, MPI_COMM_WORLD);
  for (int r = 1; rank == 0 && r < size; ++r) {
    double other;
    MPI_Recv(word, WORD_BYTES, MPI_CHAR, r, WORD_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    memcpy(&other, word, sizeof other);
    if (other > number) number = other;
  }
  return number;
}

/* Computes for so long, and seldom looks at the clock: several ranks on each processor are then spread evenly by the scheduler. */
static inline void settle(double seconds) {
  const double start = now_s();
  while (now_s() - start < seconds) {
    for (volatile int i = 0; i < 1000000; ++i) continue;
  }
}

/* How many of `most` rounds fit into `limit_s`, when `tried` took `spent_s`; at least one. The same in every rank. */
static inline long affordable(long most, long tried, double spent_s, double limit_s) {
  const double fit = spent_s > 0 ? limit_s / (spent_s / (double)tried) : (double)most;
  return told(fit >= (double)most ? most : fit < 1 ? 1 : (long)fit);
}

static inline void point_of_size(long bytes, double value) {
  char label[32];
  snprintf(label, sizeof label, "%ld", bytes);
  point(label, value);
}

#endif
