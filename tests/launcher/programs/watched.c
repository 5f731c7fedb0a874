// For watch_test.py. Rank 0 sends 1000 messages to rank 1; then all wait for rank 1, which waits for a file to appear (argv[1]); then
// each says "quiet", and goes on when another file is there (argv[2]).
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static void await_file(const char* path) {
  while (access(path, F_OK) != 0) usleep(10000);
}

int main(int count, char** values) {
  int rank, size;
  char bytes[1000] = {0};
  MPI_Init(&count, &values);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 1000; ++i) {
    if (rank == 0) MPI_Send(bytes, sizeof bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(bytes, sizeof bytes, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 1) {
    await_file(values[1]);
    for (int to = 0; to < size; ++to) {
      if (to != 1) MPI_Send(bytes, 1, MPI_CHAR, to, 2, MPI_COMM_WORLD);
    }
  } else if (rank % 2 == 0) {
    MPI_Recv(bytes, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Request request;
    int index;
    MPI_Irecv(bytes, 1, MPI_CHAR, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &request);
    MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  printf("quiet\n");
  fflush(stdout);
  await_file(values[2]);
  MPI_Finalize();
  return 0;
}
