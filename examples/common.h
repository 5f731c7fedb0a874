/* What the examples share: command-line options, a digest, a seeded generator, exits that say why. Plain C99 on any
   MPI. Every example prints, from rank 0, a few numbers and a digest of its full-precision result: the same bytes for
   any legal order of messages with the same number of ranks. No times on stdout. */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void fail(const char* program, const char* what) {
  fprintf(stderr, "%s: %s\n", program, what);
  MPI_Abort(MPI_COMM_WORLD, 2);
  exit(2);
}

static inline void* allocate(size_t count, size_t bytes) {
  void* memory = calloc(count ? count : 1, bytes);
  if (!memory) fail("example", "out of memory");
  return memory;
}

/* The value of "--name value", or `otherwise`. */
static inline const char* option_text(int argc, char** argv, const char* name, const char* otherwise) {
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], name) == 0 && i + 1 < argc) return argv[i + 1];
  }
  return otherwise;
}

static inline long option_long(int argc, char** argv, const char* name, long otherwise, long smallest) {
  const char* text = option_text(argc, argv, name, NULL);
  if (!text) return otherwise;
  char* end = NULL;
  long value = strtol(text, &end, 10);
  if (*end || value < smallest) {
    char line[200];
    snprintf(line, sizeof line, "%.40s %.80s: expected a number of at least %ld", name, text, smallest);
    fail(argv[0], line);
  }
  return value;
}

static inline int option_flag(int argc, char** argv, const char* name) {
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], name) == 0) return 1;
  }
  return 0;
}

/* FNV-1a over 64-bit words with a final mix; `bytes` is a multiple of 8 for all that is digested here. */
static inline uint64_t digest(uint64_t state, const void* data, size_t bytes) {
  const unsigned char* at = (const unsigned char*)data;
  for (size_t i = 0; i + 8 <= bytes; i += 8) {
    uint64_t word;
    memcpy(&word, at + i, 8);
    state = (state ^ word) * UINT64_C(0x100000001b3);
    state ^= state >> 29;
  }
  return state;
}
#define DIGEST_START UINT64_C(0xcbf29ce484222325)

/* splitmix64: the n-th number of stream `seed`, without any state, so that every rank can make any of them. */
static inline uint64_t random_at(uint64_t seed, uint64_t n) {
  uint64_t z = seed * UINT64_C(0xd1342543de82ef95) + (n + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}
static inline double uniform_at(uint64_t seed, uint64_t n) {
  return (double)(random_at(seed, n) >> 11) * 0x1p-53;
}

/* Ranks as a grid of `rows` x `columns`, as square as the number allows, rows <= columns. */
static inline void rank_grid(int size, int* rows, int* columns) {
  int r = 1;
  for (int i = 1; i * i <= size; ++i) {
    if (size % i == 0) r = i;
  }
  *rows = r;
  *columns = size / r;
}

/* Block `index` of `parts` nearly equal blocks of n things: first and count. */
static inline long block_first(long n, int parts, int index) {
  return n / parts * index + (index < n % parts ? index : n % parts);
}
static inline long block_count(long n, int parts, int index) {
  return n / parts + (index < n % parts ? 1 : 0);
}

/* Last line of every example; the exit code of main. */
static inline int verdict(int rank, int checked, int good) {
  if (rank == 0 && checked) printf("check: %s\n", good ? "passed" : "FAILED");
  return checked && !good ? 1 : 0;
}

#endif
