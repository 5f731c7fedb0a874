/* Large messages to a rank that nobody keeps a log for, since a second thread of it has called MPI: what its sender has begun to write comes over the
   connection alone, also when the sender computes for longer than a receiver waits before it looks into logs. */
#include <mpi.h>
#include <pthread.h>

#include "check.h"
#include "clock.h"

enum { rounds = 10, bytes = 32 << 20 };

static void *ask(void *unused) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return unused;
}

static void compute(double seconds) {
  for (double until = now() + seconds; now() < until;) continue;
}

/* The receiver asks for it, and some of it leaves, between the computations. */
static void send_in_between(const unsigned char *data, int round) {
  MPI_Request request;
  int done = 0;
  MPI_Isend(data, bytes, MPI_BYTE, 0, round, MPI_COMM_WORLD, &request);
  for (int i = 1; i <= 12 && !done; ++i) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (!done) compute(0.04);
  }
  if (!done) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  begin(&argc, &argv);
  if (world_rank == 0) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, ask, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  unsigned char *data = malloc(bytes);
  CHECK(data != NULL);
  for (int round = 0; round < rounds; ++round) {
    if (world_rank == 1) {
      fill(data, bytes, (unsigned)round);
      send_in_between(data, round);
    } else {
      memset(data, 0xee, bytes);
      MPI_Recv(data, bytes, MPI_BYTE, 1, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(holds(data, bytes, (unsigned)round));
    }
  }
  free(data);
  silence_unused();
  return end();
}
