/* one_message COUNT: rank 1 asks rank 0 for a message of 8 bytes, waits until it must be there, and receives it; COUNT times. So
   that each MPI_Send and each MPI_Recv of rank 1 goes its shortest way. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  long word = 0;
  for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; --i) {
    if (rank == 0) {
      MPI_Recv(&word, 1, MPI_LONG, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&word, 1, MPI_LONG, 1, 2, MPI_COMM_WORLD);
    } else {
      struct timespec pause = {0, 5000000};
      MPI_Send(&word, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD);
      nanosleep(&pause, NULL);
      MPI_Recv(&word, 1, MPI_LONG, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  MPI_Finalize();
  return 0;
}
