/* Barrier and broadcast: all roots, all lengths, types with gaps on either side. */
#include "coll.h"

static void one(MPI_Comm comm, int root, int n, int gaps) {
  int rank, stride;
  MPI_Comm_rank(comm, &rank);
  MPI_Datatype type = layout(gaps, &stride);
  int* data = blank(n, stride);
  if (rank == root) put(data, n, stride, root, 5);
  COLLECTIVE(Bcast, Ibcast, data, n, type, root, comm);
  CHECK_BLOCK(data, n, stride, root, 5);
  CHECK_INT(-1, data[(size_t)n * stride]);
  free(data);
}

static void all(MPI_Comm comm) {
  int size, rank;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  for (int root = 0; root < size; ++root) {
    for (int s = 0; s < N_SIZES; ++s) {
      one(comm, root, sizes[s], 0);
      one(comm, root, sizes[s], 1);
      one(comm, root, sizes[s], (rank ^ root) & 1);
    }
  }
  /* the large-count form, and bytes in number no multiple of anything */
  char bytes[70001];
  if (rank == 0) fill(bytes, sizeof bytes, 9);
  OK(MPI_Bcast_c(bytes, sizeof bytes, MPI_BYTE, 0, comm));
  CHECK(holds(bytes, sizeof bytes, 9));
  for (int i = 0; i < 20; ++i) {
    if (i % 2) {
      MPI_Request request;
      OK(MPI_Ibarrier(comm, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
      OK(MPI_Barrier(comm));
    }
  }
}

/* After a barrier every rank has entered it. */
static void barrier_separates(void) {
  int token = 0;
  MPI_Request requests[64];
  for (int round = 0; round < 5; ++round) {
    if (world_rank == round % world_size) {
      int n = 0;
      for (int to = 0; to < world_size && n < 64; ++to) {
        if (to != world_rank) OK(MPI_Isend(&token, 1, MPI_INT, to, round, MPI_COMM_WORLD, &requests[n++]));
      }
      OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
      OK(MPI_Barrier(MPI_COMM_WORLD));
    } else {
      OK(MPI_Recv(&token, 1, MPI_INT, round % world_size, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      OK(MPI_Barrier(MPI_COMM_WORLD));
    }
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  on_communicators(all);
  barrier_separates();
  return end();
}
