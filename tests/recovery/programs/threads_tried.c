/* threads_tried HOW LEVEL FILE: a thread of rank 1 gives the first one something, which attempts to have it. Both do so while they have a lock that nobody
   records, as Python's was. In the run before, the giver has that lock first; in the replay (FILE is there) the first thread has it, and attempts in vain.
   HOW: the function; LEVEL: multiple or serialized. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "program_parts.h"

static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int unrecorded, holds, gave, attempts, again;

static void await(const int* what) {
  while (!__atomic_load_n(what, __ATOMIC_SEQ_CST)) usleep(100);
}
static void set(int* what, int value) { __atomic_store_n(what, value, __ATOMIC_SEQ_CST); }
static void take_unrecorded(void) {
  while (__atomic_exchange_n(&unrecorded, 1, __ATOMIC_SEQ_CST)) usleep(100);
}

static void* give(void* nothing) {
  pthread_mutex_lock(&mutex);
  pthread_rwlock_rdlock(&rwlock);
  set(&holds, 1);
  if (again) await(&attempts);
  take_unrecorded();
  sem_post(&semaphore);
  pthread_mutex_unlock(&mutex);
  pthread_rwlock_unlock(&rwlock);
  set(&unrecorded, 0);
  set(&gave, 1);
  return nothing;
}

static void attempt(const char* how) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  ++until.tv_sec;
  take_unrecorded();
  set(&attempts, 1);
  if (strcmp(how, "sem_trywait") == 0) sem_trywait(&semaphore);
  if (strcmp(how, "sem_timedwait") == 0) sem_timedwait(&semaphore, &until);
  if (strcmp(how, "pthread_mutex_trylock") == 0 && pthread_mutex_trylock(&mutex) == 0) pthread_mutex_unlock(&mutex);
  if (strcmp(how, "pthread_rwlock_timedwrlock") == 0 && pthread_rwlock_timedwrlock(&rwlock, &until) == 0) pthread_rwlock_unlock(&rwlock);
  set(&unrecorded, 0);
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  int provided, rank;
  MPI_Init_thread(&argc, &argv, strcmp(argv[2], "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) {
    pthread_t giver;
    again = is_there(argv[3]);
    fclose(fopen(argv[3], "w"));
    sem_init(&semaphore, 0, 0);
    pthread_create(&giver, NULL, give, NULL);
    await(&holds);
    if (!again) await(&gave);
    attempt(argv[1]);
    pthread_join(giver, NULL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD); /* killed here */
  if (rank == 0) puts("ok");
  MPI_Finalize();
  return 0;
}
