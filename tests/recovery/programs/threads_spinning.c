/* threads_spinning ITEMS [FILE]: threads that share what no lock protects. Items are taken by an atomic variable; with FILE, a thread that comes a
   second time (FILE is there) spins for ever instead of taking the lock that the other one waits behind. */
#include "threads.h"

static pthread_mutex_t mpi = PTHREAD_MUTEX_INITIALIZER;
static int items, next_item, done, spins, stop;

static void* work(void* number) {
  for (;;) {
    const int item = __atomic_fetch_add(&next_item, 1, __ATOMIC_SEQ_CST);
    if (item >= items) return NULL;
    toil(1000 + (unsigned)item * 7919u % 20000);
    if (number && item > items / 4 && spins) {
      while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
      }
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
  items = begin_with_threads(&argc, &argv);
  const char* file = argc > 2 ? argv[2] : NULL;
  spins = file && rank == 0 && is_there(file);
  if (file && rank == 0 && !spins) fclose(fopen(file, "w"));
  pthread_create(&other, NULL, work, (void*)1);
  work(NULL);
  pthread_join(other, NULL);
  return end_with_threads(done);
}
