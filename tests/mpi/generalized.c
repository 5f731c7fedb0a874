/* Generalized requests, alone and among others; MPI_Status_set_*. */
#include "check.h"

static int queried, freed, cancelled, was_complete, query_result, free_result;

static int query(void* extra, MPI_Status* status) {
  ++queried;
  CHECK(extra == &queried);
  MPI_Status_set_source(status, 3);
  MPI_Status_set_tag(status, 7);
  MPI_Status_set_elements(status, MPI_INT, 5);
  MPI_Status_set_cancelled(status, cancelled > 0);
  return query_result;
}
static int release(void* extra) {
  CHECK(extra == &queried);
  ++freed;
  return free_result;
}
static int cancel(void* extra, int complete) {
  CHECK(extra == &queried);
  ++cancelled;
  was_complete = complete;
  return MPI_SUCCESS;
}

static MPI_Request make(void) {
  MPI_Request request;
  queried = freed = cancelled = 0;
  was_complete = -1;
  OK(MPI_Grequest_start(query, release, cancel, &queried, &request));
  return request;
}

int main(int argc, char** argv) {
  MPI_Request request, requests[3];
  MPI_Status status, statuses[3];
  int flag, count, value = 4, got = 0, index;
  begin(&argc, &argv);

  request = make();
  OK(MPI_Test(&request, &flag, &status));
  CHECK_INT(0, flag);
  OK(MPI_Grequest_complete(request));
  OK(MPI_Request_get_status(request, &flag, &status));
  CHECK_INT(1, flag);
  CHECK_INT(1, queried);
  CHECK_INT(0, freed);
  OK(MPI_Wait(&request, &status));
  CHECK(request == MPI_REQUEST_NULL);
  CHECK_INT(2, queried);
  CHECK_INT(1, freed);
  CHECK_INT(3, status.MPI_SOURCE);
  CHECK_INT(7, status.MPI_TAG);
  OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_INT(5, count);
  OK(MPI_Test_cancelled(&status, &flag));
  CHECK_INT(0, flag);

  request = make();
  OK(MPI_Cancel(&request));
  CHECK_INT(1, cancelled);
  CHECK_INT(0, was_complete);
  OK(MPI_Grequest_complete(request));
  OK(MPI_Cancel(&request));
  CHECK(was_complete != 0);
  do OK(MPI_Test(&request, &flag, &status));
  while (!flag);
  OK(MPI_Test_cancelled(&status, &flag));
  CHECK_INT(1, flag);
  CHECK_INT(1, freed);

  /* Freed while active: the free function runs when it is complete. */
  request = make();
  MPI_Request alias = request;
  OK(MPI_Request_free(&request));
  CHECK_INT(0, freed);
  OK(MPI_Grequest_complete(alias));
  CHECK_INT(1, freed);
  CHECK_INT(0, queried);

  /* Among other requests. */
  requests[0] = make();
  OK(MPI_Irecv(&got, 1, MPI_INT, previous_rank(), 1, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Isend(&value, 1, MPI_INT, next_rank(), 1, MPI_COMM_WORLD, &requests[2]));
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Waitany(3, requests, &index, &status));
    CHECK(index == 1 || index == 2);
  }
  OK(MPI_Testall(3, requests, &flag, statuses));
  CHECK_INT(0, flag);
  OK(MPI_Grequest_complete(requests[0]));
  OK(MPI_Waitall(3, requests, statuses));
  CHECK_INT(7, statuses[0].MPI_TAG);
  CHECK_INT(4, got);

  /* Errors of the callbacks are the completing call's. */
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  request = make();
  query_result = MPI_ERR_BUFFER;
  OK(MPI_Grequest_complete(request));
  FAILS(MPI_ERR_BUFFER, MPI_Wait(&request, MPI_STATUS_IGNORE));
  query_result = MPI_SUCCESS;
  request = make();
  free_result = MPI_ERR_ARG;
  OK(MPI_Grequest_complete(request));
  FAILS(MPI_ERR_ARG, MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_INT(1, freed);
  return end();
}
