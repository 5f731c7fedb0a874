/* Messages from rank 0 to rank 1 in windows: WINDOW Isend against WINDOW Irecv, then one answer back. Prints MB/s (1e6
   bytes), or with `rate` million messages a second.

     stream [rate] [any] SIZE:WINDOW:WINDOWS[:WARM_UP] ...

   WARM_UP windows (default 2, part of WINDOWS) are not measured. Fewer windows are sent when they would take longer than
   a second. any: every receive is posted for any source. */
#include "bench.h"

enum { WINDOW_MAX = 1024, BATCH_MESSAGES = 64 };

typedef struct {
  long bytes, window, windows, warm_up;
} Sizes;

static MPI_Request requests[WINDOW_MAX];
static double times[BATCHES_MAX];

static void send_windows(const Sizes* s, long count, char* data) {
  char answer[WORD_BYTES];
  for (long w = 0; w < count; ++w) {
    for (long i = 0; i < s->window; ++i) {
      MPI_Isend(data, (int)s->bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall((int)s->window, requests, MPI_STATUSES_IGNORE);
    MPI_Recv(answer, WORD_BYTES, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void receive_windows(const Sizes* s, long count, char* data, int any) {
  char answer[WORD_BYTES] = {0};
  for (long w = 0; w < count; ++w) {
    for (long i = 0; i < s->window; ++i) {
      MPI_Irecv(data + i * s->bytes, (int)s->bytes, MPI_CHAR, any ? MPI_ANY_SOURCE : 0, 0, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall((int)s->window, requests, MPI_STATUSES_IGNORE);
    MPI_Send(answer, WORD_BYTES, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
  }
}

static void windows(const Sizes* s, long count, char* data, int rank, int any) {
  if (rank == 0) {
    send_windows(s, count, data);
  } else {
    receive_windows(s, count, data, any);
  }
}

static void measure(Sizes s, int rank, int rate, int any) {
  char* data = buffer((size_t)(rank == 0 ? s.bytes : s.bytes * s.window));
  double start = now_s();
  windows(&s, s.warm_up, data, rank, any);
  const long left = affordable(s.windows - s.warm_up, s.warm_up, now_s() - start, 1.0);
  long batch = BATCH_MESSAGES / s.window > 0 ? BATCH_MESSAGES / s.window : 1; /* windows between two looks at the clock */
  if (batch > left) batch = left;
  int batches = (int)(left / batch < BATCHES_MAX ? left / batch : BATCHES_MAX);
  for (int b = 0; b < batches; ++b) {
    start = now_s();
    windows(&s, batch, data, rank, any);
    times[b] = (now_s() - start) / (double)(batch * s.window);
  }
  const double seconds = median(times, batches);
  if (rank == 0) point_of_size(s.bytes, (rate ? 1.0 : (double)s.bytes) / seconds / 1e6);
  free(data);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_of_two();
  int rate = 0, any = 0;
  for (int i = 1; i < argc; ++i) {
    Sizes s = {0, 0, 0, 2};
    if (strcmp(argv[i], "rate") == 0) {
      rate = 1;
    } else if (strcmp(argv[i], "any") == 0) {
      any = 1;
    } else if (sscanf(argv[i], "%ld:%ld:%ld:%ld", &s.bytes, &s.window, &s.windows, &s.warm_up) >= 3 && s.window >= 1 &&
               s.window <= WINDOW_MAX && s.warm_up >= 1 && s.windows > s.warm_up) {
      measure(s, rank, rate, any);
    } else {
      fail("usage: stream [rate] [any] SIZE:WINDOW:WINDOWS[:WARM_UP] ...");
    }
  }
  MPI_Finalize();
  return 0;
}
