/* threads_served ROUNDS THREADS: one thread calls MPI for the others, who wait for a condition, for a time at first. What they find, and how
   often their time was over, goes into what is sent. */
#include <errno.h>
#include <time.h>

#include "threads.h"

enum { THREADS_MAX = 16 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER, served = PTHREAD_COND_INITIALIZER;
static int rounds, running, done;
static int waiting[THREADS_MAX]; /* what it asks for */

static void* serve(void* threads) {
  pthread_mutex_lock(&mutex);
  while (running > 0) {
    int any = 0;
    for (int i = 0; i < (int)(intptr_t)threads; ++i) {
      if (!waiting[i]) continue;
      any = 1;
      state = digest_of(state, (uint64_t)i);
      pthread_mutex_unlock(&mutex); /* others ask meanwhile */
      toil(3000);
      pthread_mutex_lock(&mutex);
      pass_on();
      ++done;
      waiting[i] = 0;
      pthread_cond_broadcast(&served);
    }
    if (!any) pthread_cond_wait(&asked, &mutex);
  }
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void* ask(void* number) {
  const int self = (int)(intptr_t)number;
  for (int round = 0; round < rounds; ++round) {
    toil(500 + (unsigned)(round * 31 + self * 17) % 97 * 100);
    pthread_mutex_lock(&mutex);
    waiting[self] = 1;
    pthread_cond_signal(&asked);
    for (int i = 0; waiting[self]; ++i) {
      struct timespec until;
      clock_gettime(CLOCK_REALTIME, &until);
      until.tv_nsec += 100000;
      if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, ++until.tv_sec;
      const int code = i < 3 ? pthread_cond_timedwait(&served, &mutex, &until) : pthread_cond_wait(&served, &mutex);
      state = digest_of(state, code == ETIMEDOUT ? 77u : 78u);
    }
    pthread_mutex_unlock(&mutex);
  }
  pthread_mutex_lock(&mutex);
  --running;
  pthread_cond_signal(&asked);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t server, others[THREADS_MAX];
  rounds = begin_with_threads(&argc, &argv, MPI_THREAD_SERIALIZED);
  running = argc > 2 ? atoi(argv[2]) : 2;
  const int threads = running;
  pthread_create(&server, NULL, serve, (void*)(intptr_t)threads);
  for (intptr_t i = 0; i < threads; ++i) pthread_create(&others[i], NULL, ask, (void*)i);
  for (int i = 0; i < threads; ++i) pthread_join(others[i], NULL);
  pthread_join(server, NULL);
  return end_with_threads(done);
}
