/* Partitioned communication (MPI 5.0, 4.2): partitions made ready in any order and by all calls, cut otherwise at the receiver, strided
 * types, several requests of one tag, matched in the order in which they were made and started in another, MPI_Parrived, null processes,
 * errors. */
#include "check.h"

enum { partitions = 12, ints = 500, all = partitions * ints, rounds = 5 };
static int out[2][all], in[2][all];

static int value(int from, int request, int round, int i) { return from * 10000000 + request * 1000000 + round * 100000 + i; }

static void fill_out(int request, int round) {
  for (int i = 0; i < all; ++i) out[request][i] = value(world_rank, request, round, i), in[request][i] = -1;
}

static void compare(int request, int round, int begin, int end) {
  for (int i = begin; i < end; ++i) CHECK_INT(value(previous_rank(), request, round, i), in[request][i]);
}

static void make_ready(int how, MPI_Request request) {
  static const int odd[] = {11, 1, 3, 9, 7, 5};
  switch (how % 3) {
    case 0:
      for (int i = partitions - 1; i >= 0; --i) OK(MPI_Pready(i, request));
      break;
    case 1:
      OK(MPI_Pready_range(4, 11, request));
      OK(MPI_Pready_range(5, 4, request)); /* none */
      OK(MPI_Pready_range(0, 3, request));
      break;
    default:
      OK(MPI_Pready_list(6, odd, request));
      for (int i = 0; i < partitions; i += 2) OK(MPI_Pready(i, request));
  }
}

/* The receiver has `cuts` partitions. */
static void check_cut(int cuts, MPI_Comm comm) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int flag = 0;
  OK(MPI_Psend_init(out[0], partitions, ints, MPI_INT, next_rank(), 3, comm, MPI_INFO_NULL, &requests[0]));
  OK(MPI_Precv_init(in[0], cuts, all / cuts, MPI_INT, previous_rank(), 3, comm, MPI_INFO_NULL, &requests[1]));
  for (int round = 0; round < rounds; ++round) {
    fill_out(0, round);
    OK(MPI_Startall(2, requests));
    make_ready(round, requests[0]);
    for (int i = 0; i < cuts && round % 2; ++i) {
      do OK(MPI_Parrived(requests[1], i, &flag));
      while (!flag);
      compare(0, round, i * (all / cuts), (i + 1) * (all / cuts));
    }
    OK(MPI_Waitall(2, requests, statuses));
    CHECK_INT(previous_rank(), statuses[1].MPI_SOURCE);
    CHECK_INT(3, statuses[1].MPI_TAG);
    int count = 0;
    MPI_Get_count(&statuses[1], MPI_INT, &count);
    CHECK_INT(all, count);
    compare(0, round, 0, all);
    OK(MPI_Parrived(requests[1], 0, &flag));
    CHECK_INT(1, flag);
  }
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
}

/* Two pairs of one tag: the first send goes to the first receive, whichever starts first. */
static void check_order(void) {
  MPI_Request sends[2], recvs[2];
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Psend_init(out[i], partitions, ints, MPI_INT, next_rank(), 4, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[i]));
  }
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Precv_init(in[i], partitions, ints, MPI_INT, previous_rank(), 4, MPI_COMM_WORLD, MPI_INFO_NULL, &recvs[i]));
  }
  for (int round = 0; round < rounds; ++round) {
    fill_out(0, round), fill_out(1, round);
    for (int i = 1; i >= 0; --i) {
      OK(MPI_Start(&sends[i]));
      make_ready(round + i, sends[i]);
    }
    OK(MPI_Startall(2, recvs));
    OK(MPI_Waitall(2, recvs, MPI_STATUSES_IGNORE));
    OK(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
    compare(0, round, 0, all), compare(1, round, 0, all);
  }
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Request_free(&sends[i]));
    OK(MPI_Request_free(&recvs[i]));
  }
}

/* Every second element of the buffers. */
static void check_strided(void) {
  MPI_Datatype every_second;
  MPI_Request requests[2];
  OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every_second));
  OK(MPI_Type_commit(&every_second));
  fill_out(0, 0);
  OK(MPI_Psend_init(out[0], partitions, ints / 2, every_second, next_rank(), 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  OK(MPI_Precv_init(in[0], 4, all / 8, every_second, previous_rank(), 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  OK(MPI_Type_free(&every_second));
  OK(MPI_Startall(2, requests));
  OK(MPI_Pready_range(0, partitions - 1, requests[0]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < all; ++i) CHECK_INT(i % 2 ? -1 : value(previous_rank(), 0, 0, i), in[0][i]);
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
}

static void check_null(void) {
  MPI_Request requests[2];
  MPI_Status status;
  int flag = 0;
  OK(MPI_Psend_init(out[0], 2, 5, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  OK(MPI_Precv_init(in[0], 2, 5, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  OK(MPI_Startall(2, requests));
  OK(MPI_Pready_range(0, 1, requests[0]));
  OK(MPI_Parrived(requests[1], 1, &flag));
  CHECK_INT(1, flag);
  OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  OK(MPI_Wait(&requests[1], &status));
  CHECK_INT(MPI_PROC_NULL, status.MPI_SOURCE);
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
}

/* A partition of no bytes has not arrived before it is sent. */
static void check_empty_partitions(void) {
  MPI_Request requests[2];
  int flag = 1;
  OK(MPI_Psend_init(out[0], 2, 0, MPI_INT, next_rank(), 9, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  OK(MPI_Precv_init(in[0], 2, 0, MPI_INT, previous_rank(), 9, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  OK(MPI_Startall(2, requests));
  OK(MPI_Parrived(requests[1], 0, &flag));
  CHECK_INT(0, flag);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Pready_range(0, 1, requests[0]));
  while (!flag) OK(MPI_Parrived(requests[1], 1, &flag));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
}

static long anonymous_kib(void) {
  char line[200];
  long kib = -1;
  FILE* status = fopen("/proc/self/status", "r");
  while (status && kib < 0 && fgets(line, sizeof line, status)) sscanf(line, "RssAnon: %ld", &kib);
  if (status) fclose(status);
  return kib;
}

/* What is freed takes no memory any more. */
static void check_memory(void) {
  long before = 0;
  for (int i = 0; i < 6000; ++i) {
    MPI_Request requests[2];
    OK(MPI_Psend_init(out[0], 2, 5, MPI_INT, next_rank(), 9, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Precv_init(in[0], 2, 5, MPI_INT, previous_rank(), 9, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    OK(MPI_Startall(2, requests));
    OK(MPI_Pready_range(0, 1, requests[0]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Request_free(&requests[i % 2]));
    OK(MPI_Request_free(&requests[1 - i % 2]));
    if (i == 2000) before = anonymous_kib();
  }
  const long grown = anonymous_kib() - before;
  if (grown > 1000) CHECK_INT(0, (int)grown);
}

static void check_errors(void) {
  MPI_Request send, recv, plain;
  int flag = 0, twice[] = {1, 1};
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  FAILS(MPI_ERR_ARG, MPI_Psend_init(out[0], -1, 5, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
  FAILS(MPI_ERR_COUNT, MPI_Psend_init(out[0], 2, -5, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
  FAILS(MPI_ERR_RANK, MPI_Psend_init(out[0], 2, 5, MPI_INT, world_size, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
  FAILS(MPI_ERR_RANK, MPI_Precv_init(in[0], 2, 5, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &recv));
  FAILS(MPI_ERR_TAG, MPI_Precv_init(in[0], 2, 5, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &recv));
  OK(MPI_Psend_init(out[0], 2, 50, MPI_INT, next_rank(), 7, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
  OK(MPI_Precv_init(in[0], 2, 10, MPI_INT, previous_rank(), 7, MPI_COMM_WORLD, MPI_INFO_NULL, &recv));
  OK(MPI_Send_init(out[1], 1, MPI_INT, next_rank(), 8, MPI_COMM_WORLD, &plain));
  FAILS(MPI_ERR_REQUEST, MPI_Pready(0, send));
  OK(MPI_Start(&send));
  OK(MPI_Start(&recv));
  FAILS(MPI_ERR_ARG, MPI_Pready(2, send));
  FAILS(MPI_ERR_ARG, MPI_Pready(-1, send));
  FAILS(MPI_ERR_ARG, MPI_Pready_list(2, twice, send));
  FAILS(MPI_ERR_REQUEST, MPI_Pready(0, recv));
  FAILS(MPI_ERR_REQUEST, MPI_Pready(0, plain));
  FAILS(MPI_ERR_REQUEST, MPI_Pready(0, MPI_REQUEST_NULL));
  FAILS(MPI_ERR_REQUEST, MPI_Parrived(send, 0, &flag));
  MPI_Request none = MPI_REQUEST_NULL;
  flag = 0;
  OK(MPI_Parrived(none, 0, &flag));
  CHECK_INT(1, flag);
  FAILS(MPI_ERR_ARG, MPI_Parrived(recv, 2, &flag));
  OK(MPI_Pready(1, send));
  FAILS(MPI_ERR_ARG, MPI_Pready(1, send));
  FAILS(MPI_ERR_ARG, MPI_Pready_range(0, 1, send));
  OK(MPI_Test(&send, &flag, MPI_STATUS_IGNORE));
  CHECK_INT(0, flag);
  OK(MPI_Pready(0, send));
  OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
  FAILS(MPI_ERR_TRUNCATE, MPI_Wait(&recv, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&send));
  OK(MPI_Request_free(&recv));
  OK(MPI_Request_free(&plain));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm dup;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
  check_cut(partitions, MPI_COMM_WORLD);
  check_cut(1, dup);
  check_cut(5, dup); /* no multiple of the sender's */
  check_cut(60, MPI_COMM_WORLD);
  check_order();
  check_strided();
  check_null();
  check_empty_partitions();
  check_memory();
  check_errors();
  OK(MPI_Comm_free(&dup));
  return end();
}
