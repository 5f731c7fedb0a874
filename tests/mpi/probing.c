/* Probe, Iprobe, Mprobe, Improbe, Mrecv, Imrecv. */
#include "check.h"

static int out[20000], in[20000];

static void send_to_next(int count, int tag, MPI_Request* request) {
  for (int i = 0; i < count; ++i) out[i] = world_rank * 100000 + tag * 1000 + i;
  OK(MPI_Issend(out, count, MPI_INT, next_rank(), tag, MPI_COMM_WORLD, request));
}

static void check_status(const MPI_Status* status, int count, int tag) {
  int got = -1;
  CHECK_INT(previous_rank(), status->MPI_SOURCE);
  CHECK_INT(tag, status->MPI_TAG);
  OK(MPI_Get_count(status, MPI_INT, &got));
  CHECK_INT(count, got);
}

static void check_data(int count, int tag) {
  for (int i = 0; i < count; ++i) CHECK_INT(previous_rank() * 100000 + tag * 1000 + i, in[i]);
}

static void round_of(int count, int source, int wanted) {
  MPI_Request request, receive;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  int flag = 0;

  send_to_next(count, 1, &request);
  OK(MPI_Probe(source, wanted, MPI_COMM_WORLD, &status));
  check_status(&status, count, 1);
  OK(MPI_Iprobe(source, wanted, MPI_COMM_WORLD, &flag, &status)); /* it is still there */
  CHECK_INT(1, flag);
  check_status(&status, count, 1);
  OK(MPI_Recv(in, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status));
  check_status(&status, count, 1);
  check_data(count, 1);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);

  send_to_next(count, 1, &request);
  do OK(MPI_Iprobe(source, wanted, MPI_COMM_WORLD, &flag, &status));
  while (!flag);
  OK(MPI_Recv(in, count, MPI_INT, source, wanted, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);

  send_to_next(count, 1, &request);
  OK(MPI_Mprobe(source, wanted, MPI_COMM_WORLD, &message, &status));
  CHECK(message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC);
  check_status(&status, count, 1);
  OK(MPI_Iprobe(source, wanted, MPI_COMM_WORLD, &flag, &status)); /* it is out of matching */
  CHECK_INT(0, flag);
  OK(MPI_Mrecv(in, count, MPI_INT, &message, &status));
  CHECK(message == MPI_MESSAGE_NULL);
  check_status(&status, count, 1);
  check_data(count, 1);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);

  send_to_next(count, 1, &request);
  do OK(MPI_Improbe(source, wanted, MPI_COMM_WORLD, &flag, &message, &status));
  while (!flag);
  check_status(&status, count, 1);
  memset(in, 0, sizeof in);
  OK(MPI_Imrecv(in, count, MPI_INT, &message, &receive));
  CHECK(message == MPI_MESSAGE_NULL);
  OK(MPI_Wait(&receive, &status));
  check_status(&status, count, 1);
  check_data(count, 1);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
}

static void check_nothing(void) {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  int flag = -1;
  OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
  CHECK_INT(0, flag);
  OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status));
  CHECK_INT(0, flag);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void check_taken_order(void) {
  /* A message that a matched probe took does not hinder those behind it. */
  MPI_Request requests[2];
  MPI_Message message;
  MPI_Status status;
  int first[2] = {world_rank, 1}, second[2] = {world_rank, 2}, got[2] = {-1, -1};
  OK(MPI_Isend(first, 2, MPI_INT, next_rank(), 5, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Isend(second, 2, MPI_INT, next_rank(), 5, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Mprobe(previous_rank(), 5, MPI_COMM_WORLD, &message, &status));
  OK(MPI_Recv(got, 2, MPI_INT, previous_rank(), 5, MPI_COMM_WORLD, &status));
  CHECK_INT(2, got[1]);
  OK(MPI_Mrecv(got, 2, MPI_INT, &message, &status));
  CHECK_INT(1, got[1]);
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}

static void check_null(void) {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Request request;
  MPI_Status status;
  int flag = 0;
  OK(MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status));
  CHECK_INT(MPI_PROC_NULL, status.MPI_SOURCE);
  OK(MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &status));
  CHECK_INT(1, flag);
  CHECK_INT(MPI_PROC_NULL, status.MPI_SOURCE);
  OK(MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status));
  CHECK(message == MPI_MESSAGE_NO_PROC);
  OK(MPI_Mrecv(in, 1, MPI_INT, &message, &status));
  CHECK(message == MPI_MESSAGE_NULL);
  CHECK_INT(MPI_PROC_NULL, status.MPI_SOURCE);
  CHECK_INT(MPI_ANY_TAG, status.MPI_TAG);
  OK(MPI_Improbe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &message, &status));
  CHECK_INT(1, flag);
  CHECK(message == MPI_MESSAGE_NO_PROC);
  OK(MPI_Imrecv(in, 1, MPI_INT, &message, &request));
  CHECK(message == MPI_MESSAGE_NULL);
  OK(MPI_Wait(&request, &status));
  CHECK_INT(MPI_PROC_NULL, status.MPI_SOURCE);
}

int main(int argc, char** argv) {
  const int counts[] = {0, 1, 100, 20000};
  begin(&argc, &argv);
  check_nothing();
  for (int i = 0; i < 4; ++i) {
    round_of(counts[i], previous_rank(), 1);
    round_of(counts[i], MPI_ANY_SOURCE, 1);
    round_of(counts[i], previous_rank(), MPI_ANY_TAG);
    round_of(counts[i], MPI_ANY_SOURCE, MPI_ANY_TAG);
  }
  check_taken_order();
  check_null();
  return end();
}
