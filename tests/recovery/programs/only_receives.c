/* only_receives DIRECTORY: rank 2 is told by rank 0 what to do and tells nobody anything. It counts in a file that it reads and writes again, makes and removes directories, and renames
   what it has written; a step that fails, or is done twice, shows. */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compute.h"
#include "need.h"

enum { ROUNDS = 40 };

static void count(void) {
  int n = 0;
  FILE* file = fopen("count", "r");
  if (file) {
    need(fscanf(file, "%d", &n) == 1, "the count is read");
    fclose(file);
  }
  file = fopen("count", "w");
  need(file && fprintf(file, "%d\n", n + 1) > 0 && fclose(file) == 0, "the count is written");
}

static void make_and_remove(int round) {
  char name[32], kept[32];
  snprintf(name, sizeof name, "open_%d", round);
  snprintf(kept, sizeof kept, "done_%d", round);
  need(mkdir(name, 0700) == 0, name);
  if (round >= 3) {
    snprintf(name, sizeof name, "open_%d", round - 3);
    need(rmdir(name) == 0, name);
  }
  FILE* file = fopen("next", "w");
  need(file && fprintf(file, "%d\n", round) > 0 && fclose(file) == 0 && rename("next", kept) == 0, kept);
}

int main(int argc, char** argv) {
  int rank, round;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  need(chdir(argv[1]) == 0, argv[1]);
  for (int i = 0; i < ROUNDS; ++i) {
    round = i;
    if (rank == 0) {
      compute(3000000);
      MPI_Send(&round, 1, MPI_INT, 2, 1, MPI_COMM_WORLD);
    }
    if (rank == 2) {
      MPI_Recv(&round, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      count();
      make_and_remove(round);
      compute(3000000);
    }
  }
  MPI_Finalize();
}
