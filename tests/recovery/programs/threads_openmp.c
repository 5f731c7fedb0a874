/* threads_openmp ROUNDS THREADS: who is the one of `omp single`, who comes first at `omp critical` and at a lock, and who gets which piece of a
 * loop and which section. */
#include <omp.h>

#include "threads.h"

void omp_set_lock_(omp_lock_t* lock); /* as Fortran calls it */

int main(int argc, char** argv) {
  const int rounds = begin_with_threads(&argc, &argv, MPI_THREAD_SERIALIZED), threads = argc > 2 ? atoi(argv[2]) : 2;
  int done = 0;
  uint64_t locked = 3;
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel num_threads(threads)
  for (int round = 0; round < rounds; ++round) {
    const uint64_t self = (uint64_t)omp_get_thread_num();
    toil(1000 + (unsigned)((uint64_t)round * 31 + self * 7919) % 8000);
#pragma omp critical
    {
      state = digest_of(state, self);
      pass_on();
      ++done;
    }
    if (round % 2) omp_set_lock(&lock);
    else omp_set_lock_(&lock);
    locked = digest_of(locked, self);
    omp_unset_lock(&lock);
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 4; ++i) {
      toil((unsigned)(i + round) * 7919u % 3000);
#pragma omp critical
      state = digest_of(state, 16 * self + (uint64_t)i);
    }
#pragma omp for schedule(runtime) nowait
    for (unsigned long long i = 0; i < 3; ++i) {
#pragma omp critical
      state = digest_of(state, 32 * self + i);
    }
#pragma omp sections
    {
#pragma omp section
#pragma omp critical
      state = digest_of(state, 64 + self);
#pragma omp section
#pragma omp critical
      state = digest_of(state, 128 + self);
    }
    uint64_t chosen = 0;
#pragma omp single copyprivate(chosen)
    chosen = self;
#pragma omp single
    {
      state = digest_of(digest_of(state, locked), 1000 * chosen + self);
      pass_on();
      ++done;
    }
  }
  omp_destroy_lock(&lock);
  return end_with_threads(done);
}
