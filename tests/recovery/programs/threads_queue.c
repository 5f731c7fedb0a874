/* threads_queue ITEMS THREADS: threads take items from a queue that a mutex protects, and call MPI in turn. */
#include "threads.h"

enum { THREADS_MAX = 16 };

static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER, mpi = PTHREAD_MUTEX_INITIALIZER;
static int items, next_item, done;

static void* work(void* number) {
  for (;;) {
    pthread_mutex_lock(&queue);
    const int item = next_item < items ? next_item++ : -1;
    state = digest_of(state, (uint64_t)(intptr_t)number * 1000003u + (uint64_t)item);
    pthread_mutex_unlock(&queue);
    if (item < 0) return NULL;
    toil(1000 + (unsigned)item * 7919u % 20000);
    pthread_mutex_lock(&mpi);
    pthread_mutex_lock(&queue);
    state = digest_of(state, (uint64_t)item);
    pass_on();
    ++done;
    pthread_mutex_unlock(&queue);
    pthread_mutex_unlock(&mpi);
  }
}

int main(int argc, char** argv) {
  items = begin_with_threads(&argc, &argv, MPI_THREAD_SERIALIZED);
  const int threads = argc > 2 ? atoi(argv[2]) : 2;
  pthread_t others[THREADS_MAX];
  for (intptr_t i = 1; i < threads; ++i) pthread_create(&others[i], NULL, work, (void*)i);
  work(NULL);
  for (int i = 1; i < threads; ++i) pthread_join(others[i], NULL);
  return end_with_threads(done);
}
