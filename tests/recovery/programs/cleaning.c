/* cleaning DIRECTORY: rank 0 removes and renames what an earlier job has left there, rank 1 then writes files of the same names, one of them all the time and a
   new one each millisecond. Rank 0 is killed meanwhile: what it does again is to leave them alone. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "need.h"

enum { ROUNDS = 1200 };

static const char* name_of(const char* what, int i) {
  static char name[40];
  snprintf(name, sizeof name, "%s_%d", what, i);
  return name;
}

static void clean(void) {
  need(unlink("out_0") == 0 && unlink("out_1") == 0, "out");
  need(rename("log_1", "log_1.bak") == 0, "log_1");
  for (int i = 0; i < ROUNDS; ++i) need(unlink(name_of("late", i)) == 0, "late");
}

static void write_all(void) {
  FILE* out = fopen("out_1", "w");
  FILE* log = fopen("log_1", "w");
  need(out && log, "files");
  for (int i = 0; i < ROUNDS; ++i) {
    fprintf(out, "%d\n", i);
    fprintf(log, "%d\n", i);
    FILE* late = fopen(name_of("late", i), "w");
    need(fflush(out) == 0 && fflush(log) == 0 && late != NULL, "a late file");
    fprintf(late, "%d\n", i);
    fclose(late);
    usleep(1000);
  }
  fclose(out);
  fclose(log);
}

int main(int argc, char** argv) {
  int rank, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  need(argc > 1 && chdir(argv[1]) == 0, "the directory");
  if (rank == 0) clean();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) write_all();
  FILE* own = rank == 0 ? fopen("out_0", "w") : NULL;
  for (int i = 0; rank == 0 && i < ROUNDS / 2; ++i) {
    MPI_Sendrecv(&i, 1, MPI_INT, 0, 1, &sum, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    fprintf(own, "%d\n", i);
    usleep(1000);
  }
  if (own) fclose(own);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
