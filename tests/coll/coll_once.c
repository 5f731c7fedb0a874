/* One broadcast of 8 bytes from rank 0, for choice_test.py. */
#include <mpi.h>

int main(int argc, char** argv) {
  double value = 1;
  MPI_Init(&argc, &argv);
  MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
