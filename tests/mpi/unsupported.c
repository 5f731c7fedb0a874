/* What Holdfast does not have, where errors are returned and nobody looks at them (notes.py looks at what the user is told). */
#include "check.h"

int main(int argc, char** argv) {
  MPI_Comm comm;
  MPI_Win win = MPI_WIN_NULL;
  void* base = NULL;
  begin(&argc, &argv);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  for (int i = 0; i < 2; ++i) {
    FAILS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, comm, &base, &win));
  }
  CHECK(win == MPI_WIN_NULL && base == NULL);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  FAILS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Win_fence(0, win));
  OK(MPI_Comm_free(&comm));
  return end();
}
