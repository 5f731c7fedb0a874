/* small_behind_large: a large message and a small one behind it, to the same rank. The small one is there long before the large one is:
   it waits for a piece of it, not for all. It carries the time at which it was sent; both ranks are on one machine. */
#include "check.h"
#include "clock.h"

enum { LARGE = 64 << 20, ROUNDS = 5 };

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  CHECK_INT(2, world_size);
  char* large = malloc(LARGE);
  memset(large, world_rank + 1, LARGE);
  double best = 1;
  for (int round = 0; round < ROUNDS; ++round) {
    double sent;
    MPI_Request requests[2];
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (world_rank == 0) {
      OK(MPI_Isend(large, LARGE, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &requests[0]));
      sent = now();
      OK(MPI_Isend(&sent, 1, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, &requests[1]));
      OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
      OK(MPI_Barrier(MPI_COMM_WORLD));
      continue;
    }
    OK(MPI_Irecv(large, LARGE, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Irecv(&sent, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    const double small_there = now() - sent;
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    const double large_there = now() - sent;
    CHECK(large[0] == 1 && large[LARGE - 1] == 1);
    if (small_there / large_there < best) best = small_there / large_there;
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  if (world_rank == 1) {
    printf("the small message was there after %.3f of the large one's time, at best\n", best);
    CHECK(best < 0.3);
  }
  free(large);
  OK(MPI_Finalize());
  return 0;
}
