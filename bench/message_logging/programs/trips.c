/* trips --count N [--any]: so many round trips of 8 bytes between ranks 0 and 1, each number checked; no clock steers it, so that it can be killed and
   done again. --any: receives from any source. Prints "point seconds". */
#include "kernels.h"

static uint64_t receive(int source, int any) {
  uint64_t number;
  MPI_Recv(&number, 1, MPI_UINT64_T, any ? MPI_ANY_SOURCE : source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return number;
}

static void send(uint64_t number, int to) { MPI_Send(&number, 1, MPI_UINT64_T, to, 0, MPI_COMM_WORLD); }

int main(int argc, char** argv) {
  begin_kernel(&argc, &argv);
  const int any = option_flag(argc, argv, "--any");
  const uint64_t count = (uint64_t)option_long(argc, argv, "--count", 1000, 1);
  if (ranks != 2) fail("trips", "needs two ranks");
  start_clock();
  uint64_t number = 1;
  for (uint64_t i = 0; i < count; ++i) {
    if (rank == 0) send(number, 1);
    const uint64_t got = receive(1 - rank, any);
    if (got != number + (rank == 0)) fail("trips", "a message is wrong");
    number = number * UINT64_C(6364136223846793005) + 1442695040888963407u;
    if (rank == 1) send(got + 1, 0);
  }
  end_kernel(number);
  return 0;
}
