/* Time of one MPI_Allreduce (sum of doubles) or MPI_Barrier among all ranks, in microseconds.

     collective allreduce:SIZE:CALLS barrier:CALLS ...

   At most CALLS calls (warm-up included), fewer when they would take longer than half a second. */
#include "bench.h"

enum { BATCHES = 25 };

typedef struct {
  long bytes; /* -1: barrier */
  double *in, *out;
} Call;

static void calls(const Call* call, long count) {
  for (long i = 0; i < count; ++i) {
    if (call->bytes < 0) {
      MPI_Barrier(MPI_COMM_WORLD);
    } else {
      MPI_Allreduce(call->in, call->out, (int)(call->bytes / (long)sizeof(double)), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
  }
}

static void measure(const char* label, long bytes, long most, int rank) {
  const size_t room = bytes > 0 ? (size_t)bytes : 8;
  Call call = {bytes, (double*)buffer(room), (double*)buffer(room)};
  memset(call.in, 0, room);
  const long warm_up = most / 10 + 1;
  double start = now_s();
  calls(&call, warm_up);
  const long count = affordable(most - warm_up, warm_up, now_s() - start, 0.5);
  const int batches = count < BATCHES ? (int)count : BATCHES;
  double times[BATCHES];
  calls(&call, 1); /* all ranks have heard the number */
  for (int b = 0; b < batches; ++b) {
    start = now_s();
    calls(&call, count / batches);
    times[b] = (now_s() - start) / (double)(count / batches) * 1e6;
  }
  if (rank == 0) point(label, median(times, batches));
  free(call.in);
  free(call.out);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 1; i < argc; ++i) {
    long bytes, most;
    char label[32];
    if (sscanf(argv[i], "allreduce:%ld:%ld", &bytes, &most) == 2 && bytes >= 8 && most >= 2) {
      snprintf(label, sizeof label, "allreduce:%ld", bytes);
      measure(label, bytes, most, rank);
    } else if (sscanf(argv[i], "barrier:%ld", &most) == 1 && most >= 2) {
      measure("barrier", -1, most, rank);
    } else {
      fail("usage: collective allreduce:SIZE:CALLS barrier:CALLS ...");
    }
  }
  MPI_Finalize();
  return 0;
}
