/* One rank without a launcher: enough to see that the program was compiled, linked and finds the library. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("size %d\n", size);
  MPI_Finalize();
  return 0;
}
