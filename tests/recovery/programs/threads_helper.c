/* threads_helper ROUNDS FILE: asks for MPI_THREAD_MULTIPLE to be safe, and calls MPI in one thread only; the other one follows it by looking at a
   variable, so that how often it takes a lock and reads a clock differs from run to run, and does not matter. That of rank 0 takes none from a
   quarter of the rounds on where the rank got that far before (FILE is there), so that its order is another one for certain. */
#include <limits.h>
#include <time.h>

#include "threads.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int round_now, noticed, followed, stop, quiet_after = INT_MAX;

static void* follow(void* nothing) {
  struct timespec t;
  for (int last = 0; !__atomic_load_n(&stop, __ATOMIC_SEQ_CST);) {
    const int round = __atomic_load_n(&round_now, __ATOMIC_SEQ_CST);
    if (round == last || round > quiet_after) continue;
    last = round;
    pthread_mutex_lock(&mutex);
    ++noticed;
    pthread_mutex_unlock(&mutex);
    clock_gettime(CLOCK_REALTIME, &t);
    __atomic_store_n(&followed, round, __ATOMIC_SEQ_CST);
  }
  return nothing;
}

static void await_helper(int round) {
  while (__atomic_load_n(&followed, __ATOMIC_SEQ_CST) < round) {
  }
}

int main(int argc, char** argv) {
  pthread_t helper;
  const int rounds = begin_with_threads(&argc, &argv, MPI_THREAD_MULTIPLE);
  const int again = rank == 0 && is_there(argv[2]);
  if (again) quiet_after = rounds / 4;
  pthread_create(&helper, NULL, follow, NULL);
  for (int round = 1; round <= rounds; ++round) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    state = digest_of(state, (uint64_t)t.tv_nsec);
    __atomic_store_n(&round_now, round, __ATOMIC_SEQ_CST);
    toil(3000);
    if (rank == 0 && !again && round == rounds / 4 + 1) {
      await_helper(round);
      fclose(fopen(argv[2], "w"));
    }
    pthread_mutex_lock(&mutex);
    pass_on();
    pthread_mutex_unlock(&mutex);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
  pthread_join(helper, NULL);
  return end_with_threads(rounds);
}
