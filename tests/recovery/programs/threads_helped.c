/* threads_helped ROUNDS LEVEL: one thread calls MPI; a second one reads clocks, MPI's among them, at any time, and takes a lock. What it has read is sent.
   It lives past MPI_Finalize. LEVEL: what is asked for, 0: MPI_THREAD_FUNNELED, 1: MPI_THREAD_SERIALIZED. */
#include <string.h>
#include <time.h>

#include "threads.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t read_so_far = 5;

static void* read_clocks(void* nothing) {
  for (;;) {
    struct timespec t;
    uint64_t bits;
    const double now = MPI_Wtime();
    memcpy(&bits, &now, sizeof bits);
    clock_gettime(CLOCK_MONOTONIC, &t);
    toil(2000);
    pthread_mutex_lock(&mutex);
    read_so_far = digest_of(digest_of(read_so_far, bits), (uint64_t)t.tv_nsec);
    pthread_mutex_unlock(&mutex);
  }
  return nothing;
}

int main(int argc, char** argv) {
  pthread_t helper;
  const int rounds = begin_with_threads(&argc, &argv, argc > 2 && atoi(argv[2]) ? MPI_THREAD_SERIALIZED : MPI_THREAD_FUNNELED);
  pthread_create(&helper, NULL, read_clocks, NULL);
  for (int round = 0; round < rounds; ++round) {
    pthread_mutex_lock(&mutex);
    state = digest_of(state, read_so_far);
    pthread_mutex_unlock(&mutex);
    pass_on();
  }
  return end_with_threads(rounds);
}
