/* Intercommunicators: making and merging them, messages between their groups in every mode. */
#include "inter.h"

static int rank, size, remote_size;

static void look(MPI_Comm inter) {
  OK(MPI_Comm_rank(inter, &rank));
  OK(MPI_Comm_size(inter, &size));
  OK(MPI_Comm_remote_size(inter, &remote_size));
}

/* Which groups it has, seen from both sides. */
static void groups(MPI_Comm inter) {
  int flag, n, result, self;
  MPI_Group local, remote, both, world;
  look(inter);
  OK(MPI_Comm_test_inter(inter, &flag));
  CHECK(flag);
  OK(MPI_Comm_test_inter(MPI_COMM_WORLD, &flag));
  CHECK(!flag);
  CHECK_INT(world_size, size + remote_size);
  OK(MPI_Comm_group(inter, &local));
  OK(MPI_Comm_remote_group(inter, &remote));
  OK(MPI_Group_rank(local, &self));
  CHECK_INT(rank, self);
  OK(MPI_Group_rank(remote, &self));
  CHECK_INT(MPI_UNDEFINED, self);
  OK(MPI_Group_size(remote, &n));
  CHECK_INT(remote_size, n);
  OK(MPI_Group_union(local, remote, &both));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Group_compare(both, world, &result));
  CHECK(result == MPI_IDENT || result == MPI_SIMILAR);
  OK(MPI_Group_free(&local));
  OK(MPI_Group_free(&remote));
  OK(MPI_Group_free(&both));
  OK(MPI_Group_free(&world));
}

typedef int (*Send)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*Isend)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

static int message(int from, int to, int tag) { return from * 10000 + to * 100 + tag; }

/* Every rank to every one of the other group, in every mode; the receiver alternates between named and any source. */
static void modes(MPI_Comm inter) {
  static const Isend kinds[] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
  static const Isend inits[] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};
  enum { N = 64 };
  static char space[N * (sizeof(int) + MPI_BSEND_OVERHEAD)];
  void* detached;
  int out[N], in[N], bytes, me = world_rank;
  MPI_Request sends[N], receives[N];
  MPI_Status statuses[N];
  look(inter);
  OK(MPI_Buffer_attach(space, sizeof space));
  for (int kind = 0; kind < 8; ++kind) {
    for (int i = 0; i < remote_size; ++i)
      OK(MPI_Irecv(&in[i], 1, MPI_INT, kind % 2 ? MPI_ANY_SOURCE : i, kind, inter, &receives[i]));
    OK(MPI_Barrier(MPI_COMM_WORLD)); /* ready mode */
    for (int i = 0; i < remote_size; ++i) {
      out[i] = message(me, world_of_remote(inter, i), kind);
      if (kind < 4) {
        OK(kinds[kind](&out[i], 1, MPI_INT, i, kind, inter, &sends[i]));
      } else {
        OK(inits[kind - 4](&out[i], 1, MPI_INT, i, kind, inter, &sends[i]));
        OK(MPI_Start(&sends[i]));
      }
    }
    OK(MPI_Waitall(remote_size, receives, statuses));
    OK(MPI_Waitall(remote_size, sends, MPI_STATUSES_IGNORE));
    int seen[N] = {0};
    for (int i = 0; i < remote_size; ++i) {
      int from = statuses[i].MPI_SOURCE;
      if (kind % 2 == 0) CHECK_INT(i, from);
      CHECK(from >= 0 && from < remote_size && !seen[from]++);
      CHECK_INT(kind, statuses[i].MPI_TAG);
      CHECK_INT(message(world_of_remote(inter, from), me, kind), in[i]);
      if (kind >= 4) OK(MPI_Request_free(&sends[i]));
    }
  }
  OK(MPI_Buffer_detach(&detached, &bytes));
}

/* Blocking sends in pairs of equal rank, send-receive, and probes of both kinds. */
static void blocking(MPI_Comm inter) {
  static const Send kinds[] = {MPI_Send, MPI_Ssend};
  int got = -1, flag = 0, partner, low;
  MPI_Status status;
  MPI_Message taken;
  MPI_Request request;
  look(inter);
  OK(MPI_Send(&rank, 1, MPI_INT, MPI_PROC_NULL, 0, inter));
  OK(MPI_Recv(&got, 1, MPI_INT, MPI_PROC_NULL, 0, inter, &status));
  CHECK_INT(MPI_PROC_NULL, status.MPI_SOURCE);
  if (rank >= remote_size) return;
  partner = world_of_remote(inter, rank);
  low = world_rank < partner;
  for (int kind = 0; kind < 2; ++kind) {
    if (low) OK(kinds[kind](&world_rank, 1, MPI_INT, rank, 3, inter));
    OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &status));
    CHECK_INT(partner, got);
    CHECK_INT(rank, status.MPI_SOURCE);
    if (!low) OK(kinds[kind](&world_rank, 1, MPI_INT, rank, 3, inter));
  }
  OK(MPI_Sendrecv(&world_rank, 1, MPI_INT, rank, 4, &got, 1, MPI_INT, rank, 4, inter, &status));
  CHECK_INT(partner, got);
  got = world_rank;
  OK(MPI_Sendrecv_replace(&got, 1, MPI_INT, rank, 4, MPI_ANY_SOURCE, 4, inter, &status));
  CHECK(got == partner && status.MPI_SOURCE == rank);
  for (int kind = 0; kind < 4; ++kind) {
    OK(MPI_Isend(&world_rank, 1, MPI_INT, rank, 5, inter, &request));
    if (kind == 0) OK(MPI_Probe(MPI_ANY_SOURCE, 5, inter, &status));
    while (kind == 1 && !flag) OK(MPI_Iprobe(rank, MPI_ANY_TAG, inter, &flag, &status));
    if (kind == 2) OK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &taken, &status));
    for (flag = 0; kind == 3 && !flag;) OK(MPI_Improbe(MPI_ANY_SOURCE, 5, inter, &flag, &taken, &status));
    CHECK(status.MPI_SOURCE == rank && status.MPI_TAG == 5);
    if (kind < 2) OK(MPI_Recv(&got, 1, MPI_INT, rank, 5, inter, &status));
    else OK(MPI_Mrecv(&got, 1, MPI_INT, &taken, &status));
    CHECK(got == partner && status.MPI_SOURCE == rank);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
}

/* A chain of persistent requests, started again and again. */
static void persistent(MPI_Comm inter) {
  int out = 0, in = -1;
  MPI_Request requests[2];
  look(inter);
  if (rank >= remote_size) return;
  OK(MPI_Send_init(&out, 1, MPI_INT, rank, 1, inter, &requests[0]));
  OK(MPI_Recv_init(&in, 1, MPI_INT, rank, 1, inter, &requests[1]));
  for (int i = 0; i < 5; ++i) {
    out = world_rank + 1000 * i;
    OK(MPI_Startall(2, requests));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_INT(world_of_remote(inter, rank) + 1000 * i, in);
  }
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
}

/* Merged in the order that `high` says, or in one that all agree on. */
static void merging(MPI_Comm inter) {
  look(inter);
  int first_of_local, first_of_remote = world_of_remote(inter, 0), sum;
  MPI_Group local, world;
  OK(MPI_Comm_group(inter, &local));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Group_translate_ranks(local, 1, (int[]){0}, world, &first_of_local));
  OK(MPI_Group_free(&local));
  OK(MPI_Group_free(&world));
  for (int order = 0; order < 4; ++order) {
    int lower = first_of_local < first_of_remote, high = order == 0 ? lower : order == 1 ? !lower : order == 2, merged_rank,
        merged_size, flag;
    MPI_Comm merged;
    OK(MPI_Intercomm_merge(inter, high, &merged));
    OK(MPI_Comm_test_inter(merged, &flag));
    CHECK(!flag);
    OK(MPI_Comm_rank(merged, &merged_rank));
    OK(MPI_Comm_size(merged, &merged_size));
    CHECK_INT(world_size, merged_size);
    if (order < 2) CHECK_INT(rank + (high ? remote_size : 0), merged_rank);
    else CHECK(merged_rank == rank || merged_rank == rank + remote_size);
    OK(MPI_Allreduce(&merged_rank, &sum, 1, MPI_INT, MPI_SUM, merged));
    CHECK_INT(world_size * (world_size - 1) / 2, sum);
    OK(MPI_Comm_free(&merged));
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  on_intercommunicators(groups);
  on_intercommunicators(modes);
  on_intercommunicators(blocking);
  on_intercommunicators(persistent);
  on_intercommunicators(merging);
  return end();
}
