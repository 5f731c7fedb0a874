/* For programs that cannot go on without something: what failed, and the job ends. */
#pragma once
#include <mpi.h>
#include <stdio.h>

static void need(int holds, const char* what) {
  if (holds) return;
  perror(what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}
