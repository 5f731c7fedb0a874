/* ordered_locks [LOCKS [LEVEL]]: what a mutex takes, in ns a lock and unlock: of one thread while another one is idle, two threads with a mutex
   each, and with the same one. LEVEL 2048 (MPI_THREAD_SERIALIZED, the default) has the order of threads recorded, 1024 (FUNNELED) has not. With
   --record-libc no there is no recorder at all. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t mutex[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t start;
static int locks;
static volatile int shared;

static void* lock_and_unlock(void* which) {
  pthread_mutex_t* mine = which;
  pthread_barrier_wait(&start);
  for (int i = 0; i < locks; ++i) {
    pthread_mutex_lock(mine);
    if (mine == &mutex[0]) ++shared;
    pthread_mutex_unlock(mine);
  }
  return NULL;
}

static double ns_a_lock(pthread_mutex_t* other) {
  struct timespec begin, end;
  pthread_t thread;
  pthread_barrier_init(&start, NULL, other ? 2 : 1);
  if (other) pthread_create(&thread, NULL, lock_and_unlock, other);
  clock_gettime(CLOCK_MONOTONIC, &begin);
  lock_and_unlock(&mutex[0]);
  if (other) pthread_join(thread, NULL);
  clock_gettime(CLOCK_MONOTONIC, &end);
  return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / locks;
}

int main(int argc, char** argv) {
  int rank, provided;
  MPI_Init_thread(&argc, &argv, argc > 2 ? atoi(argv[2]) : MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  locks = argc > 1 ? atoi(argv[1]) : 200000;
  const double two = ns_a_lock(&mutex[1]), same = ns_a_lock(&mutex[0]), one = ns_a_lock(NULL);
  if (rank == 0) printf("one thread %.1f ns, two with a mutex each %.1f ns, with the same %.1f ns\n", one, two, same);
  MPI_Finalize();
  return 0;
}
