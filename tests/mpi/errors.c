/* What goes wrong and how it is reported: arguments, truncation, MPI_ERR_IN_STATUS, which communicator's handler is
 * called. */
#include "check.h"

static int handled, handled_class;

static void on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  ++handled;
  MPI_Error_class(*code, &handled_class);
}

static void check_arguments(void) {
  MPI_Datatype raw;
  MPI_Request request;
  int value = 0;
  FAILS(MPI_ERR_COUNT, MPI_Send(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD));
  FAILS(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, world_size, 0, MPI_COMM_WORLD));
  FAILS(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, -9, 0, MPI_COMM_WORLD));
  FAILS(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD));
  FAILS(MPI_ERR_TAG, MPI_Send(&value, 1, MPI_INT, 0, -7, MPI_COMM_WORLD));
  FAILS(MPI_ERR_TAG, MPI_Send(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD));
  FAILS(MPI_ERR_RANK, MPI_Recv(&value, 1, MPI_INT, world_size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  FAILS(MPI_ERR_TAG, MPI_Irecv(&value, 1, MPI_INT, 0, -9, MPI_COMM_WORLD, &request));
  FAILS(MPI_ERR_COUNT, MPI_Irecv(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request));
  FAILS(MPI_ERR_RANK, MPI_Probe(world_size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  FAILS(MPI_ERR_COMM, MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
  FAILS(MPI_ERR_TYPE, MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD));
  OK(MPI_Type_contiguous(2, MPI_INT, &raw));
  FAILS(MPI_ERR_TYPE, MPI_Send(&value, 1, raw, 0, 0, MPI_COMM_WORLD));
  OK(MPI_Type_free(&raw));
}

/* A null pointer for an array that is not empty. */
/* A type is made of the one before, and that is freed, as programs append blocks. */
static void check_deep_types(void) {
  const int lengths[] = {1, 1};
  MPI_Datatype type, next;
  OK(MPI_Type_dup(MPI_INT, &type));
  int code = MPI_SUCCESS, depth = 0;
  for (; code == MPI_SUCCESS && depth < 20000; ++depth) {
    const MPI_Aint places[] = {0, 16 + 24 * depth};
    const MPI_Datatype members[] = {type, depth % 2 == 0 ? MPI_DOUBLE : MPI_INT};
    code = MPI_Type_create_struct(2, lengths, places, members, &next);
    if (code != MPI_SUCCESS) break;
    OK(MPI_Type_free(&type));
    type = next;
  }
  int class;
  OK(MPI_Error_class(code, &class));
  CHECK_INT(MPI_ERR_TYPE, class);
  CHECK_INT(1, depth > 4000);
  FAILS(MPI_ERR_TYPE, MPI_Type_dup(type, &next));
  OK(MPI_Type_free(&type));
}

static void check_null_arrays(void) {
  MPI_Group world, made;
  MPI_Datatype type;
  int one = 0, other;
  MPI_Aint at = 0;
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)); /* where errors without a communicator go */
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  FAILS(MPI_ERR_ARG, MPI_Group_incl(world, 1, NULL, &made));
  FAILS(MPI_ERR_ARG, MPI_Group_translate_ranks(world, 1, NULL, world, &other));
  FAILS(MPI_ERR_ARG, MPI_Group_translate_ranks(world, 1, &one, world, NULL));
  OK(MPI_Group_translate_ranks(world, 0, NULL, world, NULL));
  FAILS(MPI_ERR_ARG, MPI_Type_indexed(1, &one, NULL, MPI_INT, &type));
  FAILS(MPI_ERR_ARG, MPI_Type_create_hindexed(1, NULL, &at, MPI_INT, &type));
  FAILS(MPI_ERR_ARG, MPI_Type_create_struct(1, &one, NULL, &(MPI_Datatype){MPI_INT}, &type));
  FAILS(MPI_ERR_ARG, MPI_Type_create_subarray(1, NULL, &one, &one, MPI_ORDER_C, MPI_INT, &type));
  FAILS(MPI_ERR_ARG, MPI_Dims_create(4, 1, NULL));
  OK(MPI_Group_free(&world));
}

static void check_truncation(void) {
  int out[4] = {1, 2, 3, 4}, in[3] = {0, 0, -1}, count;
  MPI_Request request;
  MPI_Status status;
  OK(MPI_Isend(out, 4, MPI_INT, next_rank(), 1, MPI_COMM_WORLD, &request));
  FAILS(MPI_ERR_TRUNCATE, MPI_Recv(in, 2, MPI_INT, previous_rank(), 1, MPI_COMM_WORLD, &status));
  CHECK_INT(-1, in[2]);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  /* The next message is whole again. */
  OK(MPI_Isend(out, 2, MPI_INT, next_rank(), 1, MPI_COMM_WORLD, &request));
  OK(MPI_Recv(in, 2, MPI_INT, previous_rank(), 1, MPI_COMM_WORLD, &status));
  OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_INT(2, count);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  /* Large: by rendezvous, and into nothing. */
  int* large = calloc(100000, sizeof *large);
  OK(MPI_Isend(large, 100000, MPI_INT, next_rank(), 1, MPI_COMM_WORLD, &request));
  FAILS(MPI_ERR_TRUNCATE, MPI_Recv(in, 0, MPI_INT, previous_rank(), 1, MPI_COMM_WORLD, &status));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  free(large);
}

static void check_in_status(void) {
  int out[2] = {1, 2}, first[2], second[1], third[2];
  MPI_Request requests[5];
  MPI_Status statuses[5];
  int error_class;
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_Irecv(first, 2, MPI_INT, previous_rank(), 1, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Irecv(second, 1, MPI_INT, previous_rank(), 2, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Irecv(third, 2, MPI_INT, previous_rank(), 3, MPI_COMM_WORLD, &requests[2]));
  requests[3] = MPI_REQUEST_NULL;
  requests[4] = MPI_REQUEST_NULL;
  for (int tag = 1; tag <= 3; ++tag) OK(MPI_Send(out, 2, MPI_INT, next_rank(), tag, MPI_COMM_WORLD));
  FAILS(MPI_ERR_IN_STATUS, MPI_Waitall(4, requests, statuses));
  for (int i = 0; i < 4; ++i) {
    MPI_Error_class(statuses[i].MPI_ERROR, &error_class);
    CHECK(error_class == (i == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS) || error_class == MPI_ERR_PENDING);
    if (i != 1 && error_class == MPI_ERR_PENDING) OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    CHECK(requests[i] == MPI_REQUEST_NULL);
  }
  CHECK_INT(1, first[0]);
  CHECK_INT(2, third[1]);

  /* Waitsome, and a completion call of one request gives the operation's own code. */
  int found, indices[1], flag;
  OK(MPI_Irecv(second, 1, MPI_INT, previous_rank(), 4, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Send(out, 2, MPI_INT, next_rank(), 4, MPI_COMM_WORLD));
  FAILS(MPI_ERR_IN_STATUS, MPI_Waitsome(1, requests, &found, indices, statuses));
  CHECK_INT(1, found);
  MPI_Error_class(statuses[0].MPI_ERROR, &error_class);
  CHECK_INT(MPI_ERR_TRUNCATE, error_class);
  OK(MPI_Irecv(second, 1, MPI_INT, previous_rank(), 5, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Send(out, 2, MPI_INT, next_rank(), 5, MPI_COMM_WORLD));
  int code;
  do code = MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
  while (code == MPI_SUCCESS && !flag);
  FAILS(MPI_ERR_TRUNCATE, code);
  CHECK(requests[0] == MPI_REQUEST_NULL);
}

/* A request that stands twice in an array is found, and can be completed afterwards. */
static void check_twice(void) {
  int out = 1, in = 0, flag, indices[3], found;
  MPI_Request requests[3];
  OK(MPI_Irecv(&in, 1, MPI_INT, world_rank, 1, MPI_COMM_WORLD, &requests[0]));
  requests[1] = MPI_REQUEST_NULL;
  requests[2] = requests[0];
  FAILS(MPI_ERR_REQUEST, MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE));
  OK(MPI_Send(&out, 1, MPI_INT, world_rank, 1, MPI_COMM_WORLD));
  FAILS(MPI_ERR_REQUEST, MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  FAILS(MPI_ERR_REQUEST, MPI_Waitsome(3, requests, &found, indices, MPI_STATUSES_IGNORE));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(requests[0] == MPI_REQUEST_NULL);
  CHECK_INT(1, in);
  OK(MPI_Recv_init(&in, 1, MPI_INT, world_rank, 1, MPI_COMM_WORLD, &requests[0]));
  requests[1] = requests[0];
  FAILS(MPI_ERR_REQUEST, MPI_Startall(2, requests));
  OK(MPI_Request_free(&requests[0]));
}

static void check_handler(void) {
  /* The handler of the request's communicator is called, also from a completion call. */
  MPI_Errhandler handler;
  MPI_Comm comm;
  MPI_Request request;
  int out[2] = {1, 2}, in[1];
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_create_errhandler(on_error, &handler));
  OK(MPI_Comm_set_errhandler(comm, handler));
  handled = 0;
  MPI_Send(in, 1, MPI_INT, world_size + 3, 0, comm);
  CHECK_INT(1, handled);
  CHECK_INT(MPI_ERR_RANK, handled_class);
  OK(MPI_Irecv(in, 1, MPI_INT, world_rank, 1, comm, &request));
  OK(MPI_Send(out, 2, MPI_INT, world_rank, 1, comm));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK_INT(2, handled);
  CHECK_INT(MPI_ERR_TRUNCATE, handled_class);
  OK(MPI_Errhandler_free(&handler));
  OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  check_arguments();
  check_null_arrays();
  check_deep_types();
  check_truncation();
  check_in_status();
  check_twice();
  check_handler();
  return end();
}
