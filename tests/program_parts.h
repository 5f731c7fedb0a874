/* What programs of several tests are made of. */
#pragma once
#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const uint64_t digest_seed = UINT64_C(14695981039346656037);

static inline uint64_t digest_of(uint64_t digest, uint64_t value) { return (digest ^ value) * UINT64_C(1099511628211); }

static inline void compute(long microseconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < microseconds);
}

/* Asked past the C library: a program that starts again is told by access() what it was told before (docs/recorder.md). */
static inline int is_there(const char* path) { return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0; }
