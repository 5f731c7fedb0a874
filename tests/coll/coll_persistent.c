/* Persistent collectives (MPI 5.0, 6.13): many starts of one request, with other data each time; several at once, started and
 * completed in orders that differ from rank to rank; among non-blocking and blocking ones and messages; their states. */
#include "coll.h"

#define ROUNDS 9
#define LONG 20011
#define KINDS 10

/* One request of each kind on each of three communicators, with the buffers that it was made with. */
struct work {
  MPI_Comm comm;
  MPI_Request request;
  int kind, rank, size, n, *out, *in, counts[64], displs[64];
  MPI_Datatype types[64];
};

static void make(struct work* w, MPI_Comm comm, int kind) {
  MPI_Info info = MPI_INFO_NULL;
  w->comm = comm;
  w->kind = kind;
  OK(MPI_Comm_rank(comm, &w->rank));
  OK(MPI_Comm_size(comm, &w->size));
  w->n = kind % 3 == 2 ? LONG : 3 + kind;
  w->out = malloc(sizeof(int) * (size_t)w->n * w->size);
  w->in = malloc(sizeof(int) * (size_t)w->n * w->size);
  for (int i = 0; i < w->size; ++i) {
    w->counts[i] = w->n;
    w->displs[i] = i * w->n * (kind == 8 ? (int)sizeof(int) : 1);
    w->types[i] = MPI_INT;
  }
  switch (kind) {
    case 0: OK(MPI_Barrier_init(comm, info, &w->request)); break;
    case 1: OK(MPI_Bcast_init(w->in, w->n, MPI_INT, w->size - 1, comm, info, &w->request)); break;
    case 2: OK(MPI_Bcast_init(w->in, w->n, MPI_INT, 0, comm, info, &w->request)); break;
    case 3: OK(MPI_Allreduce_init(w->out, w->in, w->n, MPI_INT, MPI_SUM, comm, info, &w->request)); break;
    case 4: OK(MPI_Gather_init(w->out, w->n, MPI_INT, w->in, w->n, MPI_INT, 0, comm, info, &w->request)); break;
    case 5: OK(MPI_Alltoall_init(w->out, w->n, MPI_INT, w->in, w->n, MPI_INT, comm, info, &w->request)); break;
    case 6:
      OK(MPI_Alltoallv_init(w->out, w->counts, w->displs, MPI_INT, w->in, w->counts, w->displs, MPI_INT, comm, info, &w->request));
      break;
    case 7: OK(MPI_Scan_init(MPI_IN_PLACE, w->in, w->n, MPI_INT, MPI_SUM, comm, info, &w->request)); break;
    case 8:
      OK(MPI_Alltoallw_init(w->out, w->counts, w->displs, w->types, w->in, w->counts, w->displs, w->types, comm, info,
                            &w->request));
      break;
    case 9: OK(MPI_Allgather_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, w->in, w->n, MPI_INT, comm, info, &w->request)); break;
  }
}

static int element(int rank, int kind, int round, int i) { return value(rank, kind * 100 + round, i) % 10007; }

static void prepare(struct work* w, int round) {
  for (int i = 0; i < w->n * w->size; ++i) w->out[i] = element(w->rank, w->kind, round, i), w->in[i] = -1;
  if (w->kind == 7) memcpy(w->in, w->out, sizeof(int) * w->n);
  if (w->kind == 9) memcpy(w->in + w->rank * w->n, w->out, sizeof(int) * w->n);
  const int root = w->kind == 1 ? w->size - 1 : 0;
  if ((w->kind == 1 || w->kind == 2) && w->rank == root) memcpy(w->in, w->out, sizeof(int) * w->n);
}

static void check(const struct work* w, int round) {
  const int k = w->kind;
  for (int i = 0; i < w->n; ++i) {
    int sum = 0;
    for (int r = 0; r < w->size; ++r) {
      if (r <= w->rank || k == 3) sum += element(r, k, round, i);
      if (k == 9 || (k == 4 && w->rank == 0)) CHECK_INT(element(r, k, round, i), w->in[r * w->n + i]);
      if (k == 5 || k == 6 || k == 8) CHECK_INT(element(r, k, round, w->rank * w->n + i), w->in[r * w->n + i]);
    }
    if (k == 1) CHECK_INT(element(w->size - 1, k, round, i), w->in[i]);
    if (k == 2) CHECK_INT(element(0, k, round, i), w->in[i]);
    if (k == 3 || k == 7) CHECK_INT(sum, w->in[i]);
  }
}

/* Which comes i-th: another order on each rank and in each round. All sizes are prime to the factors. */
static int turn(int i, int n, int round) {
  static const int factors[] = {1, 7, 11, 13};
  return (i * factors[(world_rank + round) % 4] + world_rank * 5 + round) % n;
}

static void many_at_once(void) {
  enum { N = 3 * KINDS };
  MPI_Comm comms[3] = {MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_SELF};
  OK(MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &comms[1]));
  static struct work works[N];
  MPI_Request requests[N];
  for (int i = 0; i < N; ++i) make(&works[i], comms[i % 3], i / 3);
  OK(MPI_Comm_free(&comms[1])); /* they go on */
  for (int round = 0; round < ROUNDS; ++round) {
    int token = 0, one = 1, sum = 0;
    MPI_Request other[2];
    for (int i = 0; i < N; ++i) prepare(&works[i], round);
    for (int i = 0; i < N; ++i) requests[i] = works[turn(i, N, round)].request;
    OK(MPI_Irecv(&token, 1, MPI_INT, previous_rank(), round, MPI_COMM_WORLD, &other[0]));
    if (round % 2) {
      OK(MPI_Startall(N, requests));
    } else {
      for (int i = 0; i < N; ++i) {
        OK(MPI_Start(&requests[i]));
        if (i == N / 2) OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &other[1]));
      }
      OK(MPI_Wait(&other[1], MPI_STATUS_IGNORE));
      CHECK_INT(world_size, sum);
    }
    OK(MPI_Send(&round, 1, MPI_INT, next_rank(), round, MPI_COMM_WORLD));
    switch ((round + world_rank) % 3) {
      case 0: OK(MPI_Waitall(N, requests, MPI_STATUSES_IGNORE)); break;
      case 1:
        for (int i = N - 1; i >= 0; --i) OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        break;
      case 2:
        for (int left = N; left > 0; --left) {
          int index;
          OK(MPI_Waitany(N, requests, &index, MPI_STATUS_IGNORE));
          CHECK(index >= 0 && index < N);
        }
        break;
    }
    for (int i = 0; i < N; ++i) CHECK(requests[i] != MPI_REQUEST_NULL);
    for (int i = 0; i < N; ++i) check(&works[i], round);
    OK(MPI_Wait(&other[0], MPI_STATUS_IGNORE));
    CHECK_INT(round, token);
  }
  for (int i = 0; i < N; ++i) {
    OK(MPI_Request_free(&works[i].request));
    CHECK(works[i].request == MPI_REQUEST_NULL);
    free(works[i].out);
    free(works[i].in);
  }
}

/* Inactive, active, complete; arrays of counts and types are needed at the initialisation only; types may be freed then. */
static void states(void) {
  MPI_Request request, two[2];
  MPI_Status status;
  MPI_Datatype type = gapped();
  int flag = 0, index = 5, mine[3] = {world_rank, -1, -1}, all[3 * 64], *counts = malloc(64 * sizeof(int)),
      *displs = malloc(64 * sizeof(int));
  for (int i = 0; i < world_size; ++i) counts[i] = 1, displs[i] = world_size - 1 - i;
  OK(MPI_Allgatherv_init(mine, 1, MPI_INT, all, counts, displs, type, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  OK(MPI_Type_free(&type));
  memset(counts, -1, 64 * sizeof(int));
  memset(displs, -1, 64 * sizeof(int));
  free(counts);
  free(displs);
  OK(MPI_Wait(&request, &status)); /* inactive: at once, with an empty status */
  CHECK_INT(MPI_ANY_SOURCE, status.MPI_SOURCE);
  OK(MPI_Test(&request, &flag, &status));
  CHECK(flag);
  two[0] = request, two[1] = MPI_REQUEST_NULL;
  OK(MPI_Waitany(2, two, &index, MPI_STATUS_IGNORE));
  CHECK_INT(MPI_UNDEFINED, index);
  for (int round = 0; round < 5; ++round) {
    mine[0] = world_rank + 10 * round;
    OK(MPI_Start(&request));
    if (round % 2) {
      for (flag = 0; !flag;) OK(MPI_Request_get_status(request, &flag, &status));
      OK(MPI_Test(&request, &flag, &status));
      CHECK(flag);
    } else {
      OK(MPI_Wait(&request, &status));
    }
    CHECK_INT(MPI_ANY_SOURCE, status.MPI_SOURCE);
    CHECK_INT(MPI_ANY_TAG, status.MPI_TAG);
    int count = -1;
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_INT(0, count);
    for (int i = 0; i < world_size; ++i) CHECK_INT(i + 10 * round, all[3 * (world_size - 1 - i)]);
    CHECK(request != MPI_REQUEST_NULL);
  }
  OK(MPI_Request_free(&request));
}

static void errors(void) {
  MPI_Comm comm;
  MPI_Request request, none = MPI_REQUEST_NULL;
  int one = 1, sum = 0;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  FAILS(MPI_ERR_ROOT, MPI_Bcast_init(&one, 1, MPI_INT, world_size, comm, MPI_INFO_NULL, &request));
  FAILS(MPI_ERR_COUNT, MPI_Allreduce_init(&one, &sum, -1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
  FAILS(MPI_ERR_OP, MPI_Allreduce_init(&one, &sum, 1, MPI_DOUBLE, MPI_BAND, comm, MPI_INFO_NULL, &request));
  FAILS(MPI_ERR_REQUEST, MPI_Start(&none));
  OK(MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
  FAILS(MPI_ERR_REQUEST, MPI_Cancel(&request));
  OK(MPI_Start(&request));
  FAILS(MPI_ERR_REQUEST, MPI_Start(&request));
  FAILS(MPI_ERR_REQUEST, MPI_Cancel(&request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_INT(world_size, sum);
  OK(MPI_Request_free(&request));
  OK(MPI_Ibarrier(comm, &request));
  FAILS(MPI_ERR_REQUEST, MPI_Start(&request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Comm_free(&comm));
}

/* Made, used and freed again and again. */
static void short_lived(void) {
  for (int i = 0; i < 200; ++i) {
    MPI_Request request;
    int out = world_rank + i, in = -1;
    OK(MPI_Reduce_init(&out, &in, 1, MPI_INT, MPI_MAX, i % world_size, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    for (int n = i % 3; n > 0; --n) {
      OK(MPI_Start(&request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      CHECK_INT(world_rank == i % world_size ? world_size - 1 + i : -1, in);
    }
    OK(MPI_Request_free(&request));
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  many_at_once();
  states();
  errors();
  short_lived();
  return end();
}
