/* sender_computes BYTES COUNT: rank 0 sends COUNT messages and then computes for 4 s without a call of MPI; rank 1 has them all within
   two seconds, whether the network took them at once or not. */
#include "check.h"
#include "clock.h"

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &world_size));
  const int bytes = argc > 1 ? atoi(argv[1]) : 1, count = argc > 2 ? atoi(argv[2]) : 1;
  char* buffer = malloc((size_t)bytes);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const double start = now();
  if (world_rank == 0) {
    for (int i = 0; i < count; ++i) {
      memset(buffer, i + 1, (size_t)bytes);
      OK(MPI_Send(buffer, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD));
    }
    while (now() - start < 4) {
    }
  } else {
    struct timespec pause = {0, 20000000}; /* what comes first comes unexpected, and the sender is not drained meanwhile */
    nanosleep(&pause, NULL);
    for (int i = 0; i < count; ++i) {
      OK(MPI_Recv(buffer, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK_INT((char)(i + 1), buffer[0]);
      CHECK_INT((char)(i + 1), buffer[bytes - 1]);
    }
    const double taken = now() - start;
    printf("%d messages of %d bytes in %.3f s\n", count, bytes, taken);
    CHECK(taken < 2);
  }
  free(buffer);
  OK(MPI_Finalize());
  return 0;
}
