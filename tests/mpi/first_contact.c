/* first_contact named|any|probe: the first message between two ranks is sent by one that then computes without a call of MPI. The
   other, which waits for it in that way, has it long before: nobody had to know where anybody is, and the sender does not help. */
#include "check.h"
#include "clock.h"

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank));
  const char how = argc > 1 ? argv[1][0] : 'n';
  double sent = 0;
  if (world_rank == 0) {
    struct timespec pause = {0, 100000000}; /* the receiver waits already */
    nanosleep(&pause, NULL);
    sent = now();
    OK(MPI_Send(&sent, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD));
    while (now() - sent < 2) {
    }
  } else if (world_rank == 1) {
    if (how == 'p') OK(MPI_Probe(0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Recv(&sent, 1, MPI_DOUBLE, how == 'a' ? MPI_ANY_SOURCE : 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    const double taken = now() - sent;
    printf("received after %.3f ms\n", 1000 * taken);
    CHECK(taken < 0.5);
  }
  OK(MPI_Finalize());
  return 0;
}
