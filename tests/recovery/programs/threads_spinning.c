/* threads_spinning ITEMS [FILE]: threads that take items by an atomic variable, which no lock protects. With FILE they take them under a lock; but a
   thread that comes a second time (FILE is there) spins for ever instead of calling MPI, as the other one awaits. */
#include <sched.h>

#include "threads.h"

static pthread_mutex_t mpi = PTHREAD_MUTEX_INITIALIZER, queue = PTHREAD_MUTEX_INITIALIZER;
static int items, next_item, done, locks, spins, stop, far; /* far: the second thread has taken an item of the last three quarters */

static int take_item(void) {
  if (!locks) return __atomic_fetch_add(&next_item, 1, __ATOMIC_SEQ_CST);
  pthread_mutex_lock(&queue);
  const int item = next_item++;
  pthread_mutex_unlock(&queue);
  return item;
}

static void* work(void* number) {
  for (;;) {
    const int item = take_item();
    if (item >= items) return NULL;
    toil(1000 + (unsigned)item * 7919u % 20000);
    if (number && item > items / 4) __atomic_store_n(&far, 1, __ATOMIC_SEQ_CST);
    while (!number && locks && item > items / 2 && !__atomic_load_n(&far, __ATOMIC_SEQ_CST)) sched_yield();
    while (number && item > items / 4 && spins && !__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
    }
    pthread_mutex_lock(&mpi);
    state = digest_of(state, (uint64_t)(intptr_t)number * 1000003u + (uint64_t)item);
    pass_on();
    ++done;
    pthread_mutex_unlock(&mpi);
  }
}

int main(int argc, char** argv) {
  pthread_t other;
  items = begin_with_threads(&argc, &argv, MPI_THREAD_SERIALIZED);
  const char* file = argc > 2 ? argv[2] : NULL;
  locks = file != NULL;
  spins = file && rank == 0 && is_there(file);
  if (file && rank == 0 && !spins) fclose(fopen(file, "w"));
  pthread_create(&other, NULL, work, (void*)1);
  work(NULL);
  pthread_join(other, NULL);
  return end_with_threads(done);
}
