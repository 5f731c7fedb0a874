/* sender_computes BYTES COUNT [first|tests|probes]: rank 0 sends COUNT messages to rank 1 and then computes without a call of MPI until that one has
   them all, whether the network took them at once or not. With `first` these are all that it ever sends, and the first one waits until it is
   stable from whom rank 0 has received. With `tests` rank 1 does not wait for them: it tests, now and then; with `probes` it looks for them with MPI_Iprobe. */
#include <unistd.h>

#include "check.h"
#include "clock.h"

enum { name_tag = 1, data_tag = 2, first_tag = 3 };

static const double patience_s = 30;

static void pause_ms(long ms) {
  const struct timespec pause = {0, ms * 1000000};
  nanosleep(&pause, NULL);
}

/* The file says to rank 0 what no message can: it does not look at them. */
static void send_and_compute(char* buffer, int bytes, int count) {
  char mark[64];
  snprintf(mark, sizeof mark, "/tmp/holdfast-sender-computes.%d", (int)getpid());
  unlink(mark);
  OK(MPI_Send(mark, sizeof mark, MPI_CHAR, 1, name_tag, MPI_COMM_WORLD));
  for (int i = 0; i < count; ++i) {
    memset(buffer, i + 1, (size_t)bytes);
    OK(MPI_Send(buffer, bytes, MPI_CHAR, 1, data_tag, MPI_COMM_WORLD));
  }
  const double start = now();
  int there = 0;
  while (!there && now() - start < patience_s) there = access(mark, F_OK) == 0;
  unlink(mark);
  CHECK(there);
}

enum How { waits, tests, probes };

static void receive_one(char* buffer, int bytes, enum How how) {
  for (int found = 0, i = 0; how == probes && !found; ++i) {
    OK(MPI_Iprobe(0, data_tag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
    if (i > 1000) usleep(20);
  }
  if (how != tests) {
    OK(MPI_Recv(buffer, bytes, MPI_CHAR, 0, data_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return;
  }
  MPI_Request request;
  OK(MPI_Irecv(buffer, bytes, MPI_CHAR, 0, data_tag, MPI_COMM_WORLD, &request));
  for (int done = 0, i = 0; !done; ++i) {
    OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (i > 1000) usleep(20);
  }
}

static void receive(char* buffer, int bytes, int count, enum How how) {
  char mark[64];
  OK(MPI_Recv(mark, sizeof mark, MPI_CHAR, 0, name_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; i < count; ++i) {
    receive_one(buffer, bytes, how);
    CHECK_INT((char)(i + 1), buffer[0]);
    CHECK_INT((char)(i + 1), buffer[bytes - 1]);
  }
  fclose(fopen(mark, "w"));
}

int main(int argc, char** argv) {
  const int bytes = argc > 1 ? atoi(argv[1]) : 1, count = argc > 2 ? atoi(argv[2]) : 1;
  const int first = argc > 3 && strcmp(argv[3], "first") == 0;
  const enum How how = argc > 3 && strcmp(argv[3], "tests") == 0 ? tests : argc > 3 && strcmp(argv[3], "probes") == 0 ? probes : waits;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &world_size));
  char* buffer = malloc((size_t)bytes);
  if (!first) OK(MPI_Barrier(MPI_COMM_WORLD));
  if (first && world_rank == world_size - 1) OK(MPI_Send(NULL, 0, MPI_INT, 0, first_tag, MPI_COMM_WORLD));
  if (first && world_rank == 0) OK(MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, first_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (world_rank == 0) {
    send_and_compute(buffer, bytes, count);
  } else if (world_rank == 1) {
    pause_ms(20); /* what comes first comes unexpected, and the sender is not drained meanwhile */
    receive(buffer, bytes, count, how);
  }
  free(buffer);
  OK(MPI_Finalize());
  return 0;
}
