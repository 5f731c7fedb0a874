/* A profiler: takes MPI_ names for itself and calls the library under its PMPI_ names (MPI 5.0, 15.2). */
#include <mpi.h>
#include <stdio.h>

static int calls;

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  ++calls;
  return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int main(int argc, char **argv) {
  int out = 42, in = 0, again = 0;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
  MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  /* What the library does by itself is not the program's: no call of the profiler's functions. */
  MPI_Sendrecv(&out, 1, MPI_INT, 0, 1, &again, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Finalize();
  if (calls != 1 || in != 42 || again != 42) {
    fprintf(stderr, "%d calls seen, received %d and %d\n", calls, in, again);
    return 1;
  }
  return 0;
}
