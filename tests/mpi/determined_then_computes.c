/* Rank 0 takes a message from any source, sends to rank 2, and computes for a second without a call of MPI: rank 2 has it within 50 ms, although
   what rank 0 determined must be on another node first. The same for a message that it sends without waiting, once it is waited for. */
#include "check.h"
#include "clock.h"

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank));
  const double seconds = argc > 1 ? atof(argv[1]) : 0.3;
  double best = 1e9;
  for (int round = 0; round < 6; ++round) { /* three of each: something else on the machine may have spoilt one */
    if (round == 3) best = 1e9;
    double sent = 0;
    if (world_rank == 0) {
      OK(MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      sent = now();
      if (round < 3) {
        OK(MPI_Send(&sent, 1, MPI_DOUBLE, 2, 2, MPI_COMM_WORLD));
      } else {
        MPI_Request request;
        OK(MPI_Isend(&sent, 1, MPI_DOUBLE, 2, 2, MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      }
      while (now() - sent < seconds) {
      }
    } else if (world_rank == 1) {
      OK(MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD));
    } else if (world_rank == 2) {
      OK(MPI_Recv(&sent, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      const double taken = now() - sent;
      printf("received after %.3f ms\n", 1000 * taken);
      best = taken < best ? taken : best;
      if (round % 3 == 2) CHECK(best < 0.05);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_Finalize());
  return 0;
}
