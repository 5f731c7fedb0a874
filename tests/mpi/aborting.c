/* Ends in the way that its argument names, with output still in the buffers of stdio (aborting.py). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  int value = 0, rank = 0;
  FILE* file = argc > 3 ? fopen(argv[3], "w") : NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    printf("last words");
    if (file) fprintf(file, "kept");
    if (strcmp(argv[1], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, atoi(argv[2]));
    if (strcmp(argv[1], "fatal") == 0) MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 77;
}
