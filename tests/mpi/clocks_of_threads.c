/* clocks_of_threads LEVEL: all threads read MPI_Wtime at once, as programs do that time their parallel regions, while the first one passes messages.
 * LEVEL: none (MPI_Init) or serialized. Where threads are ordered, one at a time reads it. */
#include <pthread.h>

#include "check.h"
#include "../program_parts.h"

enum { THREADS = 3, ROUNDS = 400, READS = 50 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ordered;

static void read_clock(double* last) {
  if (ordered) pthread_mutex_lock(&mutex);
  const double now = MPI_Wtime();
  CHECK(MPI_Wtick() > 0);
  if (ordered) pthread_mutex_unlock(&mutex);
  CHECK(now >= *last);
  *last = now;
}

static void* read_clocks(void* nothing) {
  double last = MPI_Wtime() * 0;
  for (int i = 0; i < ROUNDS * READS; ++i) read_clock(&last);
  return nothing;
}

int main(int argc, char** argv) {
  pthread_t threads[THREADS];
  int provided;
  double last = 0;
  long sum = 0;
  ordered = argc > 1 && strcmp(argv[1], "serialized") == 0;
  if (ordered) MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  else MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  if (!ordered) {
    for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, read_clocks, NULL);
  }
  for (int round = 0; round < ROUNDS; ++round) {
    int out = world_rank * 1000 + round, in = -1;
    OK(MPI_Sendrecv(&out, 1, MPI_INT, next_rank(), 0, &in, 1, MPI_INT, previous_rank(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    sum += in;
    for (int i = 0; i < READS; ++i) read_clock(&last);
    if (ordered && round % 100 == 0) {
      pthread_create(&threads[0], NULL, read_clocks, NULL);
      pthread_join(threads[0], NULL);
    }
  }
  for (int i = 0; i < THREADS && !ordered; ++i) pthread_join(threads[i], NULL);
  if (world_rank == 0) printf("sum %ld\n", sum);
  MPI_Finalize();
  return 0;
}
