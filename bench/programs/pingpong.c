/* Half of a round trip between rank 0 and the first of the second half of all ranks, in microseconds. The others take no part.

     pingpong [any] SIZE:TRIPS ...

   At most TRIPS round trips a size (warm-up included), fewer when they would take longer than half a second.
   any: every receive is posted for any source. */
#include "bench.h"

enum { BATCHES = 25 };

static int source_of(int any, int peer) { return any ? MPI_ANY_SOURCE : peer; }

static void trips(long count, char* data, int bytes, int rank, int peer, int any) {
  for (long i = 0; i < count; ++i) {
    if (rank == 0) {
      MPI_Send(data, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
      MPI_Recv(data, bytes, MPI_CHAR, source_of(any, peer), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(data, bytes, MPI_CHAR, source_of(any, peer), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(data, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
    }
  }
}

static void measure(long bytes, long most, int rank, int peer, int any) {
  char* data = buffer((size_t)bytes);
  const long warm_up = most / 10 + 1;
  double start = now_s();
  trips(warm_up, data, (int)bytes, rank, peer, any);
  const long count = affordable(most - warm_up, warm_up, now_s() - start, 0.5);
  const int batches = count < BATCHES ? (int)count : BATCHES;
  double times[BATCHES];
  for (int b = 0; b < batches; ++b) {
    start = now_s();
    trips(count / batches, data, (int)bytes, rank, peer, any);
    times[b] = (now_s() - start) / (double)(count / batches) / 2 * 1e6;
  }
  if (rank == 0) point_of_size(bytes, median(times, batches));
  free(data);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, any = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks < 2) fail("needs two ranks or more");
  const int peer = rank == 0 ? ranks / 2 : 0, takes_part = rank == 0 || rank == ranks / 2;
  for (int i = 1; i < argc; ++i) {
    long bytes, most;
    if (strcmp(argv[i], "any") == 0) {
      any = 1;
    } else if (sscanf(argv[i], "%ld:%ld", &bytes, &most) == 2 && most >= 2) {
      if (takes_part) measure(bytes, most, rank, peer, any);
      else told(0);  /* how many trips they make */
    } else {
      fail("usage: pingpong [any] SIZE:TRIPS ...");
    }
  }
  MPI_Finalize();
  return 0;
}
