/* Non-blocking send and receive and all ways to complete them: Wait, Waitall, Waitany, Waitsome, Test, Testall,
 * Testany, Testsome, MPI_Request_get_status and its forms; null requests; MPI_Request_free of active ones. */
#include "check.h"

enum { count_max = 24, ints_max = 30000 };
static int out[count_max][ints_max], in[count_max][ints_max];
static MPI_Request sends[count_max], receives[count_max];

typedef int (*SendFunction)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

static int length_of(int i) {
  return i % 4 == 3 ? ints_max - i : i * 3;
}

static void start(SendFunction send, int count) {
  for (int i = 0; i < count; ++i) {
    fill(out[i], (size_t)length_of(i) * sizeof(int), (unsigned)(world_rank * 100 + i));
    memset(in[i], 0, sizeof in[i]);
    OK(MPI_Irecv(in[i], ints_max, MPI_INT, previous_rank(), i, MPI_COMM_WORLD, &receives[i]));
  }
  for (int i = count - 1; i >= 0; --i)
    OK(send(out[i], length_of(i), MPI_INT, next_rank(), i, MPI_COMM_WORLD, &sends[i]));
}

static void check_received(int i, const MPI_Status* status) {
  int length = -1;
  CHECK(holds(in[i], (size_t)length_of(i) * sizeof(int), (unsigned)(previous_rank() * 100 + i)));
  CHECK_INT(previous_rank(), status->MPI_SOURCE);
  CHECK_INT(i, status->MPI_TAG);
  OK(MPI_Get_count(status, MPI_INT, &length));
  CHECK_INT(length_of(i), length);
}

static void is_empty(const MPI_Status* status) {
  int count = -1, cancelled = -1;
  CHECK_INT(MPI_ANY_SOURCE, status->MPI_SOURCE);
  CHECK_INT(MPI_ANY_TAG, status->MPI_TAG);
  OK(MPI_Get_count(status, MPI_BYTE, &count));
  CHECK_INT(0, count);
  OK(MPI_Test_cancelled(status, &cancelled));
  CHECK_INT(0, cancelled);
}

static void with_wait(void) {
  MPI_Status status;
  for (int i = 0; i < count_max; ++i) {
    OK(MPI_Wait(&receives[i], &status));
    CHECK(receives[i] == MPI_REQUEST_NULL);
    check_received(i, &status);
    OK(MPI_Wait(&sends[i], MPI_STATUS_IGNORE));
  }
}

static void with_waitall(void) {
  MPI_Status statuses[count_max];
  OK(MPI_Waitall(count_max, receives, statuses));
  for (int i = 0; i < count_max; ++i) check_received(i, &statuses[i]);
  OK(MPI_Waitall(count_max, sends, MPI_STATUSES_IGNORE));
}

static void with_waitany(void) {
  int seen[count_max] = {0}, index;
  MPI_Status status;
  for (int i = 0; i < count_max; ++i) {
    OK(MPI_Waitany(count_max, receives, &index, &status));
    CHECK(index >= 0 && index < count_max && !seen[index]++);
    CHECK(receives[index] == MPI_REQUEST_NULL);
    check_received(index, &status);
  }
  OK(MPI_Waitany(count_max, receives, &index, &status));
  CHECK_INT(MPI_UNDEFINED, index);
  is_empty(&status);
  OK(MPI_Waitall(count_max, sends, MPI_STATUSES_IGNORE));
}

static void with_waitsome(void) {
  int seen[count_max] = {0}, total = 0, found, indices[count_max];
  MPI_Status statuses[count_max];
  while (total < count_max) {
    OK(MPI_Waitsome(count_max, receives, &found, indices, statuses));
    CHECK(found > 0);
    for (int i = 0; i < found; ++i) {
      CHECK(!seen[indices[i]]++);
      check_received(indices[i], &statuses[i]);
    }
    total += found;
  }
  OK(MPI_Waitsome(count_max, receives, &found, indices, statuses));
  CHECK_INT(MPI_UNDEFINED, found);
  OK(MPI_Waitall(count_max, sends, MPI_STATUSES_IGNORE));
}

static void with_test(void) {
  MPI_Status status;
  int flag;
  for (int i = 0; i < count_max; ++i) {
    do OK(MPI_Test(&receives[i], &flag, &status));
    while (!flag);
    CHECK(receives[i] == MPI_REQUEST_NULL);
    check_received(i, &status);
    do OK(MPI_Test(&sends[i], &flag, MPI_STATUS_IGNORE));
    while (!flag);
  }
}

static void with_testall(void) {
  MPI_Status statuses[count_max];
  int flag;
  do OK(MPI_Testall(count_max, receives, &flag, statuses));
  while (!flag);
  for (int i = 0; i < count_max; ++i) check_received(i, &statuses[i]);
  do OK(MPI_Testall(count_max, sends, &flag, MPI_STATUSES_IGNORE));
  while (!flag);
}

static void with_testany(void) {
  int seen[count_max] = {0}, total = 0, index, flag;
  MPI_Status status;
  while (total < count_max) {
    OK(MPI_Testany(count_max, receives, &index, &flag, &status));
    if (!flag) {
      CHECK_INT(MPI_UNDEFINED, index);
      continue;
    }
    CHECK(!seen[index]++);
    check_received(index, &status);
    ++total;
  }
  OK(MPI_Testany(count_max, receives, &index, &flag, &status));
  CHECK_INT(1, flag);
  CHECK_INT(MPI_UNDEFINED, index);
  is_empty(&status);
  OK(MPI_Waitall(count_max, sends, MPI_STATUSES_IGNORE));
}

static void with_testsome(void) {
  int seen[count_max] = {0}, total = 0, found, indices[count_max];
  MPI_Status statuses[count_max];
  while (total < count_max) {
    OK(MPI_Testsome(count_max, receives, &found, indices, statuses));
    CHECK(found >= 0);
    for (int i = 0; i < found; ++i) {
      CHECK(!seen[indices[i]]++);
      check_received(indices[i], &statuses[i]);
    }
    total += found;
  }
  OK(MPI_Testsome(count_max, receives, &found, indices, statuses));
  CHECK_INT(MPI_UNDEFINED, found);
  OK(MPI_Waitall(count_max, sends, MPI_STATUSES_IGNORE));
}

static void with_get_status(void) {
  MPI_Status statuses[count_max], status;
  int flag, index, found, indices[count_max];
  do OK(MPI_Request_get_status(receives[0], &flag, &status));
  while (!flag);
  CHECK(receives[0] != MPI_REQUEST_NULL);
  check_received(0, &status);
  OK(MPI_Request_get_status(receives[0], &flag, &status));
  CHECK_INT(1, flag);
  do OK(MPI_Request_get_status_any(count_max, receives, &index, &flag, &status));
  while (!flag);
  check_received(index, &status);
  do OK(MPI_Request_get_status_some(count_max, receives, &found, indices, statuses));
  while (found == 0);
  for (int i = 0; i < found; ++i) check_received(indices[i], &statuses[i]);
  do OK(MPI_Request_get_status_all(count_max, receives, &flag, statuses));
  while (!flag);
  for (int i = 0; i < count_max; ++i) check_received(i, &statuses[i]);
  with_waitall();
  OK(MPI_Request_get_status(receives[0], &flag, &status));
  CHECK_INT(1, flag);
  is_empty(&status);
}

static void check_null(void) {
  MPI_Request null[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL}, request;
  MPI_Status status, statuses[3];
  int flag = 0, index = 0, indices[3], count = 0, value = 5;
  OK(MPI_Wait(&null[0], &status));
  is_empty(&status);
  OK(MPI_Test(&null[0], &flag, &status));
  CHECK_INT(1, flag);
  is_empty(&status);
  OK(MPI_Waitall(3, null, statuses));
  for (int i = 0; i < 3; ++i) is_empty(&statuses[i]);
  OK(MPI_Testall(3, null, &flag, statuses));
  CHECK_INT(1, flag);
  OK(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
  OK(MPI_Waitany(0, NULL, &index, &status));
  CHECK_INT(MPI_UNDEFINED, index);
  OK(MPI_Request_get_status_any(3, null, &index, &flag, &status));
  CHECK_INT(1, flag);
  CHECK_INT(MPI_UNDEFINED, index);
  OK(MPI_Request_get_status_some(3, null, &count, indices, statuses));
  CHECK_INT(MPI_UNDEFINED, count);
  OK(MPI_Request_get_status_all(3, null, &flag, statuses));
  CHECK_INT(1, flag);
  is_empty(&statuses[2]);

  OK(MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, &status));
  CHECK_INT(MPI_PROC_NULL, status.MPI_SOURCE);
  CHECK_INT(MPI_ANY_TAG, status.MPI_TAG);
  CHECK_INT(5, value);
}

static void check_free(void) {
  /* Freed while active: the message still goes, and the receive still lands. */
  static int big_out[100000], big_in[100000];
  MPI_Request send, receive;
  volatile int* last = &big_in[99999];
  int token = 0;
  for (int i = 0; i < 100000; ++i) big_out[i] = i + 1;
  OK(MPI_Irecv(big_in, 100000, MPI_INT, previous_rank(), 70, MPI_COMM_WORLD, &receive));
  OK(MPI_Isend(big_out, 100000, MPI_INT, next_rank(), 70, MPI_COMM_WORLD, &send));
  OK(MPI_Request_free(&send));
  OK(MPI_Request_free(&receive));
  CHECK(send == MPI_REQUEST_NULL && receive == MPI_REQUEST_NULL);
  while (*last != 100000) OK(MPI_Iprobe(MPI_ANY_SOURCE, 71, MPI_COMM_WORLD, &token, MPI_STATUS_IGNORE));
  for (int i = 0; i < 100000; ++i) CHECK_INT(i + 1, big_in[i]);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  void (*const ways[])(void) = {with_wait,    with_waitall, with_waitany,  with_waitsome,  with_test,
                                with_testall, with_testany, with_testsome, with_get_status};
  const SendFunction modes[] = {MPI_Isend, MPI_Issend, MPI_Irsend};
  begin(&argc, &argv);
  for (size_t way = 0; way < sizeof ways / sizeof *ways; ++way) {
    for (size_t mode = 0; mode < 3; ++mode) {
      if (mode == 2) { /* ready: every receive must be posted */
        for (int i = 0; i < count_max; ++i) {
          fill(out[i], (size_t)length_of(i) * sizeof(int), (unsigned)(world_rank * 100 + i));
          OK(MPI_Irecv(in[i], ints_max, MPI_INT, previous_rank(), i, MPI_COMM_WORLD, &receives[i]));
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < count_max; ++i) {
          OK(MPI_Irsend(out[i], length_of(i), MPI_INT, next_rank(), i, MPI_COMM_WORLD, &sends[i]));
        }
      } else {
        start(modes[mode], count_max);
      }
      ways[way]();
    }
  }
  check_null();
  check_free();
  return end();
}
