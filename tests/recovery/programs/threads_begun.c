/* threads_begun: a thread waits at a barrier while MPI_Init_thread decides that threads are ordered. One of both does the serial part. */
#include <unistd.h>

#include "threads.h"

static pthread_barrier_t barrier;
static int serial;

static void* wait_at_barrier(void* nothing) {
  for (int i = 0; i < 3; ++i) {
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) __atomic_add_fetch(&serial, 1, __ATOMIC_SEQ_CST);
  }
  return nothing;
}

int main(int argc, char** argv) {
  pthread_t other;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&other, NULL, wait_at_barrier, NULL);
  usleep(50000);
  begin_with_threads(&argc, &argv, MPI_THREAD_SERIALIZED);
  wait_at_barrier(NULL);
  pthread_join(other, NULL);
  return end_with_threads(serial);
}
