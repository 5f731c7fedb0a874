// A program's exceptions pass through the library: an error handler throws, and its program catches.
#include <mpi.h>

#include <cstdio>
#include <stdexcept>
#include <string>

static void raise_error(MPI_Comm*, int* code, ...) { throw std::runtime_error("code " + std::to_string(*code)); }

int main(int argc, char** argv) {
  int rank = 0, caught = 0;
  MPI_Errhandler handler;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_create_errhandler(raise_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  for (int i = 0; i < 100; ++i) {
    try {
      MPI_Send(&i, 1, MPI_INT, 999, 0, MPI_COMM_WORLD);
    } catch (const std::exception& error) {
      caught += std::string(error.what()).rfind("code ", 0) == 0;
    }
  }
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  return caught == 100 ? 0 : 1;
}
