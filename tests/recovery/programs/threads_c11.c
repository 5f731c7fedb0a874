/* threads_c11 ITEMS THREADS: as threads_queue, with the threads, locks and conditions of C11: items are put into a queue by the first thread and taken
 * out by the others, which call MPI in turn. */
#include <threads.h>

#include "threads.h"

enum { THREADS_MAX = 16, ROOM = 8 };

static mtx_t queue, mpi;
static cnd_t filled, emptied;
static once_flag begun = ONCE_FLAG_INIT;
static int items, put, taken, done, beginner;
static thread_local int number;

static void begin_once(void) { beginner = number; }

static int take_item(void) {
  int item = -1;
  mtx_lock(&queue);
  while (taken == put && put < items) cnd_wait(&filled, &queue);
  if (taken < put) item = taken++;
  state = digest_of(state, (uint64_t)number * 1000003u + (uint64_t)item);
  cnd_signal(&emptied);
  mtx_unlock(&queue);
  return item;
}

static int work(void* given) {
  number = (int)(intptr_t)given;
  call_once(&begun, begin_once);
  for (int item; (item = take_item()) >= 0;) {
    toil(1000 + (unsigned)item * 7919u % 20000);
    while (mtx_trylock(&mpi) != thrd_success) thrd_yield();
    mtx_lock(&queue);
    state = digest_of(state, (uint64_t)item + (uint64_t)beginner);
    pass_on();
    ++done;
    mtx_unlock(&queue);
    mtx_unlock(&mpi);
  }
  return number;
}

static void fill(void) {
  while (put < items) {
    mtx_lock(&queue);
    while (put - taken == ROOM) {
      struct timespec until;
      timespec_get(&until, TIME_UTC);
      ++until.tv_sec;
      cnd_timedwait(&emptied, &queue, &until);
    }
    ++put;
    cnd_broadcast(&filled);
    mtx_unlock(&queue);
  }
}

int main(int argc, char** argv) {
  items = begin_with_threads(&argc, &argv, MPI_THREAD_SERIALIZED);
  const int threads = argc > 2 ? atoi(argv[2]) : 2;
  thrd_t others[THREADS_MAX];
  mtx_init(&queue, mtx_plain);
  mtx_init(&mpi, mtx_plain);
  cnd_init(&filled);
  cnd_init(&emptied);
  for (intptr_t i = 1; i <= threads; ++i) thrd_create(&others[i], work, (void*)i);
  fill();
  for (int i = 1, result; i <= threads; ++i) {
    thrd_join(others[i], &result);
    if (result != i) done = -1;
  }
  return end_with_threads(done);
}
