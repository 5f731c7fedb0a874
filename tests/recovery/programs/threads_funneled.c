/* threads_funneled ROUNDS THREADS: one thread calls MPI, and the program asks for no more; but which thread gets which piece of a loop, and comes
   first at `omp critical`, tells in what is sent. */
#include "threads.h"

int main(int argc, char** argv) {
  const int rounds = begin_with_threads(&argc, &argv, MPI_THREAD_FUNNELED), threads = argc > 2 ? atoi(argv[2]) : 2;
  for (int round = 0; round < rounds; ++round) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int i = 0; i < 8; ++i) {
      toil((unsigned)(i + round) * 7919u % 3000);
#pragma omp critical
      state = digest_of(state, (uint64_t)i);
    }
    pass_on();
  }
  return end_with_threads(rounds);
}
