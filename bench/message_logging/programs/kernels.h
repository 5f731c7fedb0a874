/* What the kernels share: grids of ranks, timing, verification. Each kernel has the pattern of communication of the NAS
   parallel benchmark of its name (paper 000, V; NAS-95-020), and arithmetic of its own. Plain C11 on any MPI.

   Every kernel prints, from rank 0, "point seconds" (its steps, without set-up) and "point digest", 52 bits of the whole result: the
   same for every protocol and, where a kernel says so, for every number of ranks. */
#ifndef KERNELS_H
#define KERNELS_H

#include <math.h>

#include "common.h"
#include "point.h"

static int rank, ranks; /* in MPI_COMM_WORLD */
static int any_source;  /* what receives of MG and LU name: MPI_ANY_SOURCE, or with --named their source */
static double started_s;

static inline void begin_kernel(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  any_source = !option_flag(*argc, *argv, "--named");
}

static inline int from(int source) { return any_source ? MPI_ANY_SOURCE : source; }

static inline void start_clock(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  started_s = now_s();
}

/* A part of the result: what stands at a place of the whole problem. Parts are added, in any order. */
static inline uint64_t part(long place, double value) {
  uint64_t word;
  memcpy(&word, &value, sizeof word);
  word ^= (uint64_t)place * UINT64_C(0x9e3779b97f4a7c15);
  word = (word ^ word >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
  return word ^ word >> 29;
}

static inline void end_kernel(uint64_t parts) {
  uint64_t whole = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = now_s() - started_s;
  MPI_Reduce(&parts, &whole, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    point("seconds", seconds);
    printf("point digest %llu\n", (unsigned long long)(whole >> 12));
  }
  MPI_Finalize();
}

/* Ranks as powers of two on so many axes, the first axes the larger. */
static inline void split(int count, int axes, int* grid) {
  if (count & (count - 1)) fail("kernel", "the number of ranks must be a power of two");
  for (int a = 0; a < axes; ++a) grid[a] = 1;
  for (int a = 0; count > 1; a = (a + 1) % axes, count /= 2) grid[a] *= 2;
}

static inline int share(int size, int of) {
  if (size % of) fail("kernel", "--size must be a multiple of the ranks along each axis");
  return size / of;
}

static inline double* doubles(long count) { return (double*)allocate((size_t)count, sizeof(double)); }

#endif
