/* first_contact named|any|probe|test|iprobe: the first message between two ranks is sent by one that then computes without a call of MPI. The
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
    int found = 0;
    MPI_Request request;
    if (how == 't') OK(MPI_Irecv(&sent, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &request));
    while (how == 't' && !found) OK(MPI_Test(&request, &found, MPI_STATUS_IGNORE));
    while (how == 'i' && !found) OK(MPI_Iprobe(0, 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
    if (how == 'p') OK(MPI_Probe(0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (how != 't') OK(MPI_Recv(&sent, 1, MPI_DOUBLE, how == 'a' ? MPI_ANY_SOURCE : 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    const double taken = now() - sent;
    printf("received after %.3f ms\n", 1000 * taken);
    CHECK(taken < 0.5);
  }
  OK(MPI_Finalize());
  return 0;
}
