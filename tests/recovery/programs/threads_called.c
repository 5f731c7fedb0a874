/* threads_called ROUNDS: functions of the program that MPI calls take locks that another thread takes as well, make threads (the first one, and those of
   OpenMP), call MPI, are left by longjmp, and wait for the end of a thread. */
#include <setjmp.h>

#include "threads.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_t other;
static int rounds, made, begun, stop;
static uint64_t shared = 7;
static jmp_buf back;

static void* work(void* nothing) {
  while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE)) continue;
  for (int last = 0; !last;) {
    toil(3000);
    pthread_mutex_lock(&mutex);
    shared = digest_of(shared, 2);
    last = stop;
    pthread_mutex_unlock(&mutex);
  }
  return nothing;
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  if (!made) { /* from the next call on threads are ordered */
    made = pthread_create(&other, NULL, work, NULL) == 0;
    return;
  }
  uint64_t pieces = 3;
#pragma omp parallel for schedule(dynamic) num_threads(2)
  for (int i = 0; i < 4; ++i) {
#pragma omp critical
    pieces = digest_of(pieces, (uint64_t)i);
  }
  pthread_mutex_lock(&mutex);
  shared = digest_of(shared, pieces);
  pthread_mutex_unlock(&mutex);
  int bytes;
  MPI_Type_size(*type, &bytes);
  for (int i = 0; i < *count; ++i) ((uint64_t*)inout)[i] += ((uint64_t*)in)[i] + (bytes == 8 ? 0 : 1000);
}

static void jump(MPI_Comm* comm, int* code, ...) {
  int of;
  MPI_Comm_size(*comm, &of);
  if (*code != MPI_SUCCESS) longjmp(back, 1);
}

static int end_other(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  pthread_mutex_lock(&mutex);
  stop = 1;
  pthread_mutex_unlock(&mutex);
  pthread_join(other, NULL);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  MPI_Op op;
  int key;
  rounds = begin_with_threads(&argc, &argv, MPI_THREAD_SERIALIZED);
  MPI_Op_create(add, 1, &op);
  MPI_Comm_create_errhandler(jump, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_other, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  for (volatile int round = 0; round < rounds; ++round) {
    uint64_t one = 1, sum = 0;
    MPI_Reduce_local(&one, &sum, 1, MPI_UINT64_T, op);
    MPI_Allreduce(&one, &sum, 1, MPI_UINT64_T, op, MPI_COMM_WORLD);
    __atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
    if (round % 8 == 0 && setjmp(back) == 0) MPI_Send(&one, 1, MPI_UINT64_T, 999, 0, MPI_COMM_WORLD);
    if (round % 16 == 0) { /* nobody calls MPI meanwhile: the lock was left, too */
      pthread_mutex_lock(&mutex);
      const uint64_t seen = shared;
      pthread_mutex_unlock(&mutex);
      for (int same = 1; same; same = __atomic_load_n(&shared, __ATOMIC_RELAXED) == seen) toil(100);
    }
    pthread_mutex_lock(&mutex);
    state = digest_of(digest_of(state, shared), sum);
    pthread_mutex_unlock(&mutex);
    pass_on();
  }
  return end_with_threads(rounds);
}
