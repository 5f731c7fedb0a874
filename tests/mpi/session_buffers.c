/* Buffers of sessions for buffered sends (MPI 5.0, 3.6): a communicator's own comes first, then its session's, then the process's. */
#include "sessions.h"

enum { ints = 500 };
static int out[ints], in[ints], later[ints];
static const int one = ints * (int)sizeof(int) + MPI_BSEND_OVERHEAD;

static void send_to_self(MPI_Comm comm, int tag) {
  int rank;
  OK(MPI_Comm_rank(comm, &rank));
  fill(out, sizeof out, (unsigned)tag);
  OK(MPI_Bsend(out, ints, MPI_INT, rank, tag, comm));
  memset(out, 0, sizeof out);
}

static void receive(MPI_Comm comm, int tag) {
  int rank;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Recv(in, ints, MPI_INT, rank, tag, comm, MPI_STATUS_IGNORE));
  CHECK(holds(in, sizeof in, (unsigned)tag));
}

static void no_room(MPI_Comm comm) {
  int rank;
  OK(MPI_Comm_rank(comm, &rank));
  FAILS(MPI_ERR_BUFFER, MPI_Bsend(out, ints, MPI_INT, rank, 0, comm));
}

static void detach(MPI_Session session, void* expected, int bytes) {
  void* address = NULL;
  int size = -1;
  OK(MPI_Session_detach_buffer(session, &address, &size));
  CHECK(address == expected);
  CHECK_INT(bytes, size);
}

/* Communicators made of one that is the session's are the session's. */
static void derived(MPI_Session session, MPI_Comm all, char* space) {
  MPI_Comm made[5];
  MPI_Group group;
  int n = 0;
  OK(MPI_Comm_dup(all, &made[n++]));
  OK(MPI_Comm_split(all, world_rank % 2, 0, &made[n++]));
  OK(MPI_Comm_group(all, &group));
  OK(MPI_Comm_create(all, group, &made[n++]));
  OK(MPI_Cart_create(all, 1, &world_size, (int[]){0}, 0, &made[n++]));
  OK(MPI_Cart_sub(made[n - 1], (int[]){1}, &made[n]));
  ++n;
  for (int i = 0; i < n; ++i) no_room(made[i]);
  OK(MPI_Session_attach_buffer(session, space, one));
  for (int i = 0; i < n; ++i) {
    send_to_self(made[i], i);
    receive(made[i], i);
    OK(MPI_Session_flush_buffer(session));
    if (i > 0) OK(MPI_Comm_set_errhandler(made[i], MPI_ERRORS_RETURN));
  }
  detach(session, space, one);
  for (int i = 0; i < n; ++i) OK(MPI_Comm_free(&made[i]));
  OK(MPI_Group_free(&group));
}

int main(int argc, char** argv) {
  MPI_Session session, other;
  MPI_Comm comm, twin, of_other;
  MPI_Request request;
  char *space = malloc((size_t)one * 2), *second = malloc((size_t)one);
  void* address;
  int size;
  (void)argc, (void)argv;
  session = open_session();
  other = open_session();
  comm = comm_of(session, "mpi://WORLD", "buffers");
  of_other = comm_of(other, "mpi://WORLD", "buffers");
  OK(MPI_Comm_dup(comm, &twin));
  no_room(comm); /* none at all */
  derived(session, comm, space);

  FAILS(MPI_ERR_ARG, MPI_Session_attach_buffer(session, space, -1));
  FAILS(MPI_ERR_BUFFER, MPI_Session_attach_buffer(session, NULL, 100));
  OK(MPI_Session_attach_buffer(session, space, 2 * one));
  FAILS(MPI_ERR_BUFFER, MPI_Session_attach_buffer(session, second, one));
  send_to_self(comm, 1);
  send_to_self(twin, 2);
  no_room(of_other);
  OK(MPI_Session_iflush_buffer(session, &request));
  receive(comm, 1);
  receive(twin, 2);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

  /* Too small for the message, and yet it is the one that is asked. */
  OK(MPI_Comm_attach_buffer(twin, second, 600));
  no_room(twin);
  send_to_self(comm, 3);
  receive(comm, 3);
  OK(MPI_Comm_detach_buffer(twin, &address, &size));
  detach(session, space, 2 * one);
  OK(MPI_Buffer_attach(second, one)); /* of the process: for both sessions, which have none */
  send_to_self(comm, 4);
  receive(comm, 4);
  OK(MPI_Buffer_flush());
  send_to_self(of_other, 5);
  receive(of_other, 5);
  OK(MPI_Session_attach_buffer(session, space, 600));
  no_room(comm);
  detach(session, space, 600);
  OK(MPI_Buffer_detach(&address, &size));
  detach(session, NULL, 0);

  OK(MPI_Session_attach_buffer(session, MPI_BUFFER_AUTOMATIC, 0));
  for (int i = 0; i < 8; ++i) send_to_self(comm, i);
  for (int i = 0; i < 8; ++i) receive(comm, i);
  detach(session, MPI_BUFFER_AUTOMATIC, 0);

  /* The end of a session waits for what is in its buffer, which is the program's again. */
  MPI_Count bytes = 2 * one;
  OK(MPI_Session_attach_buffer_c(session, space, bytes));
  const int to = (world_rank + 1) % world_size, from = (world_rank + world_size - 1) % world_size;
  OK(MPI_Irecv(later, ints, MPI_INT, from, 9, of_other, &request));
  OK(MPI_Comm_attach_buffer(of_other, second, one));
  fill(out, sizeof out, 9);
  OK(MPI_Bsend(out, ints, MPI_INT, to, 9, of_other));
  send_to_self(comm, 7);
  receive(comm, 7);
  OK(MPI_Comm_free(&twin));
  OK(MPI_Comm_free(&comm));
  close_session(&session);
  memset(space, 0xff, (size_t)one * 2);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(holds(later, sizeof later, 9));
  OK(MPI_Comm_free(&of_other));
  close_session(&other);
  memset(second, 0xff, (size_t)one);
  free(space);
  free(second);
  if (world_rank == 0) printf("ok\n");
  return 0;
}
