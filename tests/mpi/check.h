/* For the whole-program tests: a failed check names rank, file and line and ends the job; a program that has passed
 * prints "ok" on rank 0. Programs run with any number of ranks and on any MPI. */
#ifndef HOLDFAST_TESTS_MPI_CHECK_H
#define HOLDFAST_TESTS_MPI_CHECK_H
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int world_rank, world_size;

#define CHECK(expression)                                                                             \
  do {                                                                                                \
    if (!(expression)) {                                                                              \
      fprintf(stderr, "rank %d: %s:%d: not true: %s\n", world_rank, __FILE__, __LINE__, #expression); \
      fflush(stderr);                                                                                 \
      MPI_Abort(MPI_COMM_WORLD, 3);                                                                   \
    }                                                                                                 \
  } while (0)

#define CHECK_INT(expected, actual)                                                                               \
  do {                                                                                                            \
    long long expected_ = (expected), actual_ = (actual);                                                         \
    if (expected_ != actual_) {                                                                                   \
      fprintf(stderr, "rank %d: %s:%d: %s is %lld, not %lld\n", world_rank, __FILE__, __LINE__, #actual, actual_, \
              expected_);                                                                                         \
      fflush(stderr);                                                                                             \
      MPI_Abort(MPI_COMM_WORLD, 3);                                                                               \
    }                                                                                                             \
  } while (0)

/* The call succeeds. */
#define OK(call) CHECK_INT(MPI_SUCCESS, call)

/* The call fails with this error class. */
#define FAILS(error_class, call)              \
  do {                                        \
    int code_ = (call), class_ = MPI_SUCCESS; \
    MPI_Error_class(code_, &class_);          \
    CHECK_INT(error_class, class_);           \
  } while (0)

static void begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
}

static int end(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 0) printf("ok\n");
  MPI_Finalize();
  return 0;
}

static int next_rank(void) {
  return (world_rank + 1) % world_size;
}
static int previous_rank(void) {
  return (world_rank + world_size - 1) % world_size;
}

/* The i-th byte of a message that `seed` names. */
static unsigned char pattern(unsigned seed, size_t i) {
  return (unsigned char)((seed * 2654435761u + i * 40503u) >> 8);
}
static void fill(void* buffer, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; ++i) ((unsigned char*)buffer)[i] = pattern(seed, i);
}
static int holds(const void* buffer, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; ++i)
    if (((const unsigned char*)buffer)[i] != pattern(seed, i)) return 0;
  return 1;
}

static inline void silence_unused(void) {
  (void)begin, (void)end, (void)next_rank, (void)previous_rank, (void)fill, (void)holds;
}
#endif
