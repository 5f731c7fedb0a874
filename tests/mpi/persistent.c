/* Persistent requests: all send modes and receives, MPI_Startall, inactive requests in completion calls,
 * MPI_Request_free, errors of MPI_Start. */
#include "check.h"

enum { ints = 5000, rounds = 5 };
static int out[ints], in[ints];

typedef int (*InitFunction)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

static void check_mode(InitFunction init, int ready) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int flag, index, count, indices[2];
  OK(MPI_Recv_init(in, ints, MPI_INT, previous_rank(), 1, MPI_COMM_WORLD, &requests[0]));
  OK(init(out, ints, MPI_INT, next_rank(), 1, MPI_COMM_WORLD, &requests[1]));
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < ints; ++i) out[i] = world_rank * 100000 + round * 10000 + i, in[i] = -1;
    /* Inactive: complete at once, and still there. */
    OK(MPI_Wait(&requests[0], &statuses[0]));
    CHECK_INT(MPI_ANY_SOURCE, statuses[0].MPI_SOURCE);
    OK(MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE));
    CHECK_INT(1, flag);
    OK(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
    CHECK_INT(MPI_UNDEFINED, index);
    OK(MPI_Testsome(2, requests, &count, indices, MPI_STATUSES_IGNORE));
    CHECK_INT(MPI_UNDEFINED, count);
    CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
    if (ready) {
      OK(MPI_Start(&requests[0]));
      MPI_Barrier(MPI_COMM_WORLD);
      OK(MPI_Start(&requests[1]));
    } else if (round % 2) {
      OK(MPI_Start(&requests[1]));
      OK(MPI_Start(&requests[0]));
    } else {
      OK(MPI_Startall(2, requests));
    }
    if (round % 3 == 0) {
      OK(MPI_Waitall(2, requests, statuses));
      CHECK_INT(previous_rank(), statuses[0].MPI_SOURCE);
    } else if (round % 3 == 1) {
      int first = -1, second = -1, third = 0;
      OK(MPI_Waitany(2, requests, &first, MPI_STATUS_IGNORE));
      OK(MPI_Waitany(2, requests, &second, MPI_STATUS_IGNORE));
      CHECK_INT(1, first + second);
      OK(MPI_Waitany(2, requests, &third, MPI_STATUS_IGNORE));
      CHECK_INT(MPI_UNDEFINED, third);
    } else {
      do OK(MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE));
      while (!flag);
    }
    for (int i = 0; i < ints; ++i) CHECK_INT(previous_rank() * 100000 + round * 10000 + i, in[i]);
  }
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
  CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
}

static void check_null(void) {
  const InitFunction inits[] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};
  MPI_Request request;
  MPI_Status status;
  for (int i = 0; i < 4; ++i) {
    OK(inits[i](NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&request));
  }
  OK(MPI_Recv_init(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
  OK(MPI_Start(&request));
  OK(MPI_Wait(&request, &status));
  CHECK_INT(MPI_PROC_NULL, status.MPI_SOURCE);
  OK(MPI_Request_free(&request));
}

static void check_errors(void) {
  MPI_Request null = MPI_REQUEST_NULL, request;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  FAILS(MPI_ERR_REQUEST, MPI_Start(&null));
  FAILS(MPI_ERR_REQUEST, MPI_Request_free(&null));
  OK(MPI_Irecv(in, 1, MPI_INT, world_rank, 40, MPI_COMM_WORLD, &request));
  FAILS(MPI_ERR_REQUEST, MPI_Start(&request));
  OK(MPI_Send(out, 1, MPI_INT, world_rank, 40, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char** argv) {
  static char space[rounds * (ints * sizeof(int) + MPI_BSEND_OVERHEAD)];
  void* address;
  int size;
  begin(&argc, &argv);
  check_mode(MPI_Send_init, 0);
  check_mode(MPI_Ssend_init, 0);
  check_mode(MPI_Rsend_init, 1);
  OK(MPI_Buffer_attach(space, sizeof space));
  check_mode(MPI_Bsend_init, 0);
  OK(MPI_Buffer_detach(&address, &size));
  check_null();
  check_errors();
  return end();
}
