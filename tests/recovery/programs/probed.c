/* probed: rank 0 announces a message of 400,000 ints that it packs in pieces; rank 1 takes it by a matched probe, and receives it two seconds later, when the
   node of rank 0 may have been lost. Meanwhile it talks to rank 2. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { COUNT = 400000, TALKS = 100 };

static void talk(int with) {
  for (int i = 0, got = 0; i < TALKS; ++i) {
    MPI_Sendrecv(&i, 1, MPI_INT, with, 1, &got, 1, MPI_INT, with, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep(20000);
  }
}

int main(int argc, char** argv) {
  int rank, done = 0, wrong = 0;
  MPI_Datatype spread;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int* data = calloc(2 * COUNT, sizeof(int));
  MPI_Type_vector(COUNT, 1, 2, MPI_INT, &spread);
  MPI_Type_commit(&spread);
  if (rank == 0) {
    for (int i = 0; i < COUNT; ++i) data[2 * i] = i * 7;
    MPI_Send(data, 1, spread, 1, 5, MPI_COMM_WORLD);
    MPI_Recv(&done, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Message message;
    MPI_Mprobe(0, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    talk(2);
    MPI_Mrecv(data, COUNT, MPI_INT, &message, MPI_STATUS_IGNORE);
    for (int i = 0; i < COUNT; ++i) wrong += data[i] != i * 7;
    printf("%d wrong\n", wrong);
    MPI_Send(&done, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
  } else if (rank == 2) {
    talk(1);
  }
  MPI_Finalize();
  return wrong != 0;
}
