/* Buffered sends: the space that the standard promises, MPI_ERR_BUFFER, flush, buffers of communicators, automatic
 * buffering. */
#include "check.h"

enum { ints = 3000, messages = 8 };
static int out[ints], in[ints];

static void receive_all(int count, int round) {
  for (int m = 0; m < count; ++m) {
    OK(MPI_Recv(in, ints, MPI_INT, previous_rank(), m, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < ints; ++i) CHECK_INT(previous_rank() * 1000 + m * 7 + round + i, in[i]);
  }
}

static void send_all(int count, int round, MPI_Comm comm) {
  for (int m = 0; m < count; ++m) {
    for (int i = 0; i < ints; ++i) out[i] = world_rank * 1000 + m * 7 + round + i;
    if (m % 2) {
      OK(MPI_Bsend(out, ints, MPI_INT, next_rank(), m, comm));
    } else {
      MPI_Request request;
      OK(MPI_Ibsend(out, ints, MPI_INT, next_rank(), m, comm, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    memset(out, 0, sizeof out); /* the copy is in the buffer */
  }
}

/* Freeing a communicator waits for the messages in its buffer; the memory is ours again. */
static void free_with_buffer(int (*give_up)(MPI_Comm*)) {
  const int bytes = ints * (int)sizeof(int) + MPI_BSEND_OVERHEAD;
  MPI_Request requests[2];
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  char* space = malloc((size_t)bytes);
  OK(MPI_Comm_attach_buffer(comm, space, bytes));
  OK(MPI_Irecv(in, ints, MPI_INT, previous_rank(), 4, comm, &requests[0]));
  fill(out, sizeof out, (unsigned)world_rank);
  OK(MPI_Bsend(out, ints, MPI_INT, next_rank(), 4, comm));
  OK(MPI_Comm_iflush_buffer(comm, &requests[1]));
  OK(give_up(&comm));
  CHECK(comm == MPI_COMM_NULL);
  memset(space, 0xff, (size_t)bytes);
  free(space);
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(holds(in, sizeof in, (unsigned)previous_rank()));
}

int main(int argc, char** argv) {
  const size_t one = ints * sizeof(int) + MPI_BSEND_OVERHEAD;
  char *space = malloc(messages * one), *other = malloc(messages * one);
  void* address = NULL;
  int size = -1;
  MPI_Request request;
  MPI_Comm comm;
  begin(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));

  FAILS(MPI_ERR_BUFFER, MPI_Bsend(out, 1, MPI_INT, next_rank(), 0, MPI_COMM_WORLD));

  /* As many messages as the standard's accounting says, before any is received. */
  OK(MPI_Buffer_attach(space, (int)(messages * one)));
  for (int round = 0; round < 3; ++round) {
    send_all(messages, round, MPI_COMM_WORLD);
    receive_all(messages, round);
    OK(MPI_Buffer_flush());
  }
  send_all(1, 5, MPI_COMM_WORLD);
  OK(MPI_Buffer_iflush(&request));
  receive_all(1, 5);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

  /* Detaching waits for the messages; this one is received by somebody who does not wait for us. */
  OK(MPI_Irecv(in, ints, MPI_INT, previous_rank(), 9, MPI_COMM_WORLD, &request));
  OK(MPI_Bsend(out, ints, MPI_INT, next_rank(), 9, MPI_COMM_WORLD));
  OK(MPI_Buffer_detach(&address, &size));
  CHECK(address == space);
  CHECK_INT((int)(messages * one), size);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)); /* where errors without a communicator go */
  FAILS(MPI_ERR_ARG, MPI_Buffer_attach(space, -1));
  FAILS(MPI_ERR_ARG, MPI_Comm_attach_buffer(MPI_COMM_WORLD, space, -1));

  /* Too large for the whole buffer. */
  OK(MPI_Buffer_attach(space, 700));
  FAILS(MPI_ERR_BUFFER, MPI_Bsend(out, 200, MPI_INT, next_rank(), 0, MPI_COMM_WORLD));
  OK(MPI_Bsend(out, 200, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  OK(MPI_Buffer_detach(&address, &size));
  CHECK_INT(700, size);

  /* A communicator's own buffer is used before the process's, which is too small here. */
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Buffer_attach(space, 1000));
  OK(MPI_Comm_attach_buffer(comm, other, (int)(messages * one)));
  for (int m = 0; m < messages; ++m) OK(MPI_Bsend(out, ints, MPI_INT, next_rank(), m, comm));
  for (int m = 0; m < messages; ++m) OK(MPI_Recv(in, ints, MPI_INT, previous_rank(), m, comm, MPI_STATUS_IGNORE));
  OK(MPI_Comm_flush_buffer(comm));
  OK(MPI_Comm_iflush_buffer(comm, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Comm_detach_buffer(comm, &address, &size));
  CHECK(address == other);
  CHECK_INT((int)(messages * one), size);
  OK(MPI_Buffer_detach(&address, &size));
  CHECK_INT(1000, size);

  /* Automatic. */
  OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
  send_all(messages * 3, 2, MPI_COMM_WORLD);
  receive_all(messages * 3, 2);
  OK(MPI_Buffer_detach(&address, &size));
  CHECK(address == MPI_BUFFER_AUTOMATIC);
  OK(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0));
  OK(MPI_Bsend(out, ints, MPI_INT, next_rank(), 3, comm));
  OK(MPI_Recv(in, ints, MPI_INT, previous_rank(), 3, comm, MPI_STATUS_IGNORE));
  OK(MPI_Comm_detach_buffer(comm, &address, &size));
  CHECK(address == MPI_BUFFER_AUTOMATIC);
  OK(MPI_Comm_free(&comm));
  free(space);
  free(other);
  free_with_buffer(MPI_Comm_free);
  free_with_buffer(MPI_Comm_disconnect);
  return end();
}
