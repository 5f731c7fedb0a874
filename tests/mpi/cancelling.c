/* MPI_Cancel of receives, sends and persistent requests; MPI_Test_cancelled. */
#include "check.h"

int main(int argc, char** argv) {
  MPI_Request request, others[2];
  MPI_Status status;
  int flag = -1, value = -1, token = 8, got = -1;
  begin(&argc, &argv);

  /* Nothing matches: the receive is cancelled, and a later one gets the message. */
  for (int source = 0; source < 2; ++source) {
    OK(MPI_Irecv(&value, 1, MPI_INT, source ? MPI_ANY_SOURCE : previous_rank(), 11, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    CHECK(request != MPI_REQUEST_NULL);
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK_INT(1, flag);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Isend(&token, 1, MPI_INT, next_rank(), 11, MPI_COMM_WORLD, &request));
    OK(MPI_Recv(&got, 1, MPI_INT, previous_rank(), 11, MPI_COMM_WORLD, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK_INT(0, flag);
    CHECK_INT(8, got);
    CHECK_INT(-1, value);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }

  /* Complete already: no effect. */
  OK(MPI_Irecv(&value, 1, MPI_INT, world_rank, 12, MPI_COMM_WORLD, &request));
  OK(MPI_Send(&token, 1, MPI_INT, world_rank, 12, MPI_COMM_WORLD));
  do OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
  while (!flag);
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &flag));
  CHECK_INT(0, flag);
  CHECK_INT(8, value);

  /* Either the receive is cancelled or it has the message: never both, never neither. */
  value = -1;
  OK(MPI_Irecv(&value, 1, MPI_INT, previous_rank(), 13, MPI_COMM_WORLD, &request));
  OK(MPI_Isend(&token, 1, MPI_INT, next_rank(), 13, MPI_COMM_WORLD, &others[0]));
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &flag));
  if (flag) {
    CHECK_INT(-1, value);
    OK(MPI_Recv(&value, 1, MPI_INT, previous_rank(), 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  CHECK_INT(8, value);
  OK(MPI_Wait(&others[0], MPI_STATUS_IGNORE));

  /* A persistent receive can be started again after a cancellation. */
  value = -1;
  OK(MPI_Recv_init(&value, 1, MPI_INT, previous_rank(), 14, MPI_COMM_WORLD, &request));
  OK(MPI_Start(&request));
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &flag));
  CHECK_INT(1, flag);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_Start(&request));
  OK(MPI_Send(&token, 1, MPI_INT, next_rank(), 14, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &flag));
  CHECK_INT(0, flag);
  CHECK_INT(8, value);
  OK(MPI_Request_free(&request));

  /* A send: cancelled or received, as the library likes. */
  OK(MPI_Issend(&token, 1, MPI_INT, world_rank, 15, MPI_COMM_WORLD, &request));
  OK(MPI_Cancel(&request));
  OK(MPI_Request_get_status(request, &flag, &status));
  int cancelled = 0;
  if (flag) OK(MPI_Test_cancelled(&status, &cancelled));
  if (!cancelled) OK(MPI_Recv(&got, 1, MPI_INT, world_rank, 15, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

  /* Synchronous sends that nobody receives: to wait for them is local once they are cancelled (MPI 5.0, 3.8.4 and 11.2.2). */
  const int to[] = {world_rank, next_rank()};
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Issend(&token, 1, MPI_INT, to[i], 16, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Ssend_init(&token, 1, MPI_INT, to[i], 17, MPI_COMM_WORLD, &request));
    OK(MPI_Start(&request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&request));
  }
  return end();
}
