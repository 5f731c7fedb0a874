/* threads_mixed ROUNDS: threads that make threads at the same time, locks that are tried, locked for reading and within a time, semaphores,
   barriers, things done once, and clocks and random numbers read by all of them. */
#include <errno.h>
#include <semaphore.h>
#include <sys/random.h>
#include <time.h>

#include "threads.h"

enum { PARENTS = 2 };

static pthread_mutex_t mpi = PTHREAD_MUTEX_INITIALIZER, tried = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t places;
static int done, first_round;

static void learn(uint64_t value) {
  pthread_mutex_lock(&mpi);
  state = digest_of(state, value);
  pthread_mutex_unlock(&mpi);
}

static void tell(uint64_t value) {
  pthread_mutex_lock(&mpi);
  state = digest_of(state, value);
  pass_on();
  ++done;
  pthread_mutex_unlock(&mpi);
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void* child(void* number) {
  uint64_t drawn = 0;
  if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn) MPI_Abort(MPI_COMM_WORLD, 4);
  toil((unsigned)(drawn % 5000));
  tell(drawn ^ now() ^ (uint64_t)(intptr_t)number);
  return NULL;
}

static void do_once(void) { learn(now()); }

static void try_locks(uint64_t self) {
  unsigned failed = 0;
  while (pthread_mutex_trylock(&tried) != 0) ++failed;
  toil(2000);
  pthread_mutex_unlock(&tried);
  learn(failed);
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  const int late = pthread_mutex_timedlock(&tried, &until);
  if (late == 0) pthread_mutex_unlock(&tried);
  learn((uint64_t)late);
  if (sem_trywait(&places) != 0) {
    learn((uint64_t)errno);
    sem_wait(&places);
  }
  toil(500);
  sem_post(&places);
  if (self == 0) {
    pthread_rwlock_wrlock(&table);
    first_round++;
    toil(1000);
  } else {
    pthread_rwlock_rdlock(&table);
    toil(500);
  }
  const int seen = first_round;
  pthread_rwlock_unlock(&table);
  learn((uint64_t)seen);
}

static void* parent(void* rounds_and_self) {
  const int rounds = (int)((intptr_t)rounds_and_self / PARENTS), self = (int)((intptr_t)rounds_and_self % PARENTS);
  for (int round = 0; round < rounds; ++round) {
    pthread_t made[2];
    for (intptr_t i = 0; i < 2; ++i) {
      if (i > 0) toil((unsigned)(now() % 3000)); /* the first ones are made as soon as the barrier lets both parents go */
      pthread_create(&made[i], NULL, child, (void*)(2 * self + i));
    }
    pthread_once(&once, do_once);
    try_locks((uint64_t)self);
    for (int i = 0; i < 2; ++i) pthread_join(made[i], NULL);
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) tell((uint64_t)self);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const intptr_t rounds = begin_with_threads(&argc, &argv, MPI_THREAD_SERIALIZED);
  pthread_t other;
  pthread_barrier_init(&barrier, NULL, PARENTS);
  sem_init(&places, 0, 1);
  pthread_create(&other, NULL, parent, (void*)(rounds * PARENTS + 1));
  parent((void*)(rounds * PARENTS));
  pthread_join(other, NULL);
  return end_with_threads(done);
}
