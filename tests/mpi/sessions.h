/* What the tests of sessions share: a session, a communicator of one of its process sets, and messages that check themselves. */
#ifndef HOLDFAST_TESTS_MPI_SESSIONS_H
#define HOLDFAST_TESTS_MPI_SESSIONS_H
#include "check.h"

static MPI_Session open_session(void) {
  MPI_Session session = MPI_SESSION_NULL;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  CHECK(session != MPI_SESSION_NULL);
  return session;
}

static void close_session(MPI_Session* session) {
  OK(MPI_Session_finalize(session));
  CHECK(*session == MPI_SESSION_NULL);
}

static MPI_Group group_of(MPI_Session session, const char* set) {
  MPI_Group group = MPI_GROUP_NULL;
  OK(MPI_Group_from_session_pset(session, set, &group));
  return group;
}

/* Sets world_rank and world_size, if the group is everybody. */
static MPI_Comm comm_of(MPI_Session session, const char* set, const char* tag) {
  MPI_Group group = group_of(session, set);
  MPI_Comm comm = MPI_COMM_NULL;
  if (!strcmp(set, "mpi://WORLD")) {
    OK(MPI_Group_rank(group, &world_rank));
    OK(MPI_Group_size(group, &world_size));
  }
  OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  OK(MPI_Group_free(&group));
  CHECK(comm != MPI_COMM_NULL);
  return comm;
}

/* Around the ring, from whoever comes, and all together. */
static void talk(MPI_Comm comm, int seed) {
  int rank, size, out, in = -1, sum = -1;
  MPI_Status status;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  out = seed * 1000 + rank;
  OK(MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, seed, &in, 1, MPI_INT, (rank + size - 1) % size, seed, comm, MPI_STATUS_IGNORE));
  CHECK_INT(seed * 1000 + (rank + size - 1) % size, in);
  if (rank == 0) {
    for (int i = 1; i < size; ++i) {
      OK(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, seed + 1, comm, &status));
      CHECK_INT(seed * 1000 + status.MPI_SOURCE, in);
    }
  } else {
    OK(MPI_Send(&out, 1, MPI_INT, 0, seed + 1, comm));
  }
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK_INT(size * (size - 1) / 2, sum);
}

static inline void silence_unused_of_sessions(void) {
  (void)open_session, (void)close_session, (void)comm_of, (void)talk;
}
#endif
