/* Many non-blocking collectives under way at once, on several communicators, with point-to-point messages between them,
 * completed in orders that differ from rank to rank. */
#include "coll.h"

#define N 24
#define MAX_RANKS 64

struct work {
  int out[MAX_RANKS * 4], in[MAX_RANKS * 4], n;
  int* big;
};
static struct work works[N];
static MPI_Request requests[N];

static void begin_one(int i, MPI_Comm comm, int round) {
  struct work* w = &works[i];
  int rank, size, root;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  root = (i + round) % size;
  w->n = 1 + i % 3;
  for (int j = 0; j < size * w->n; ++j) w->out[j] = rank * 1000 + j + i + round;
  for (int j = 0; j < size * w->n; ++j) w->in[j] = -1;
  switch (i % 6) {
    case 0: OK(MPI_Iallreduce(w->out, w->in, w->n, MPI_INT, MPI_SUM, comm, &requests[i])); break;
    case 1: OK(MPI_Ialltoall(w->out, w->n, MPI_INT, w->in, w->n, MPI_INT, comm, &requests[i])); break;
    case 2:
      w->big = malloc(30000 * sizeof(int));
      for (int j = 0; j < 30000; ++j) w->big[j] = rank == root ? value(root, i, j) : -1;
      OK(MPI_Ibcast(w->big, 30000, MPI_INT, root, comm, &requests[i]));
      break;
    case 3: OK(MPI_Iallgather(w->out, w->n, MPI_INT, w->in, w->n, MPI_INT, comm, &requests[i])); break;
    case 4: OK(MPI_Iscan(w->out, w->in, w->n, MPI_INT, MPI_SUM, comm, &requests[i])); break;
    case 5: OK(MPI_Igather(w->out, w->n, MPI_INT, w->in, w->n, MPI_INT, root, comm, &requests[i])); break;
  }
}

static void check_one(int i, MPI_Comm comm, int round) {
  struct work* w = &works[i];
  int rank, size, root;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  root = (i + round) % size;
  for (int j = 0; j < w->n; ++j) {
    int sum = 0, prefix = 0;
    for (int r = 0; r < size; ++r) {
      sum += r * 1000 + j + i + round;
      if (r <= rank) prefix += r * 1000 + j + i + round;
      if (i % 6 == 1) CHECK_INT(r * 1000 + rank * w->n + j + i + round, w->in[r * w->n + j]);
      if (i % 6 == 3 || (i % 6 == 5 && rank == root)) CHECK_INT(r * 1000 + j + i + round, w->in[r * w->n + j]);
    }
    if (i % 6 == 0) CHECK_INT(sum, w->in[j]);
    if (i % 6 == 4) CHECK_INT(prefix, w->in[j]);
  }
  if (i % 6 == 2) {
    for (int j = 0; j < 30000; ++j) CHECK_INT(value(root, i, j), w->big[j]);
    free(w->big);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm comms[3] = {MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_NULL};
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comms[2]));
  for (int round = 0; round < 12; ++round) {
    int token = 0, sent = world_rank + round;
    MPI_Request p2p[2];
    OK(MPI_Irecv(&token, 1, MPI_INT, previous_rank(), round, MPI_COMM_WORLD, &p2p[0]));
    for (int i = 0; i < N; ++i) {
      begin_one(i, comms[i % 3], round);
      if (i == N / 2) OK(MPI_Isend(&sent, 1, MPI_INT, next_rank(), round, MPI_COMM_WORLD, &p2p[1]));
    }
    OK(MPI_Barrier(comms[round % 3])); /* a blocking one between them */
    switch ((round + world_rank) % 4) {
      case 0: OK(MPI_Waitall(N, requests, MPI_STATUSES_IGNORE)); break;
      case 1:
        for (int i = N - 1; i >= 0; --i) OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        break;
      case 2:
        for (int left = N; left > 0; --left) {
          int index;
          OK(MPI_Waitany(N, requests, &index, MPI_STATUS_IGNORE));
          CHECK(index >= 0 && index < N);
          CHECK(requests[index] == MPI_REQUEST_NULL);
        }
        break;
      case 3:
        for (int left = N; left > 0;) {
          int done = 0, which = rand() % N;
          if (requests[which] == MPI_REQUEST_NULL) continue;
          OK(MPI_Test(&requests[which], &done, MPI_STATUS_IGNORE));
          left -= done;
        }
        break;
    }
    for (int i = 0; i < N; ++i) check_one(i, comms[i % 3], round);
    OK(MPI_Waitall(2, p2p, MPI_STATUSES_IGNORE));
    CHECK_INT(previous_rank() + round, token);
  }
  OK(MPI_Comm_free(&comms[1]));
  OK(MPI_Comm_free(&comms[2]));
  return end();
}
