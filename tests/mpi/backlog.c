/* backlog COUNT BYTES: rank 0 sends more than the channel to rank 1 takes, which is not there yet, and from then on a small message now and then; it never waits for anything.
   Each of those is with rank 1 at once: what had no room was offered with what came after it. */
#include <unistd.h>

#include "check.h"
#include "clock.h"

enum { small = 60 };

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int large = argc > 1 ? atoi(argv[1]) : 100, large_bytes = argc > 2 ? atoi(argv[2]) : 16000;
  char* buffer = calloc(1, (size_t)large_bytes);
  double delays[small];
  if (world_rank == 0) {
    for (int i = 0; i < large; ++i) OK(MPI_Send(buffer, large_bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD));
    usleep(300000);
    for (int i = 0; i < 2 * small; ++i) {
      const double sent = now();
      OK(MPI_Send(&sent, 1, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD));
      while (now() - sent < 0.005) continue;
    }
  } else {
    usleep(200000);
    for (int i = 0; i < large; ++i) OK(MPI_Recv(buffer, large_bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2 * small; ++i) {
      double sent = 0;
      OK(MPI_Recv(&sent, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      if (i >= small) delays[i - small] = now() - sent;
    }
    qsort(delays, small, sizeof *delays, by_size);
    printf("half of them after %.1f us\n", 1e6 * delays[small / 2]);
    CHECK(delays[small / 2] < 0.0007);
  }
  free(buffer);
  silence_unused();
  MPI_Finalize();
  return 0;
}
