/* kept DIRECTORY: files that do not stay as they were read. In each round rank 0 writes one over, which all read; all write one, which rank 0 reads and removes. It goes on
   with the number of a file that an earlier job has left, which it replaces. Rank 0 prints sums of what was read. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "need.h"

enum { ROUNDS = 30, LINES = 1000 };

static const char* name_of(const char* what, int rank) {
  static char name[40];
  snprintf(name, sizeof name, "%s_%d", what, rank);
  return name;
}

static void write_number(const char* name, long number, int lines) {
  FILE* file = fopen(name, "w");
  need(file != NULL, name);
  for (int i = 0; i < lines; ++i) fprintf(file, "%ld\n", number + i);
  need(fclose(file) == 0, name);
}

static long read_numbers(const char* name) {
  long number, sum = 0;
  FILE* file = fopen(name, "r");
  need(file != NULL, name);
  while (fscanf(file, "%ld", &number) == 1) sum += number;
  fclose(file);
  return sum;
}

static long go_on(int rank) {
  long state = read_numbers(name_of("state", rank)) + 1;
  write_number("new", state, 1);
  need(rename("new", name_of("state", rank)) == 0, "state");
  return state;
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  need(argc > 1 && chdir(argv[1]) == 0, "the directory");
  long sums[2] = {0, 0}, all[2];
  if (rank == 0) sums[1] += go_on(rank);
  for (int round = 0; round < ROUNDS; ++round) {
    if (rank == 0) write_number("orders", round, LINES);
    MPI_Barrier(MPI_COMM_WORLD);
    sums[0] += read_numbers("orders");
    write_number(name_of("part", rank), round * 100 + rank, 20);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int of = 0; rank == 0 && of < ranks; ++of) {
      sums[1] += read_numbers(name_of("part", of));
      need(unlink(name_of("part", of)) == 0, "part");
    }
    usleep(3000);
  }
  if (rank == 0) sums[1] += go_on(rank);
  MPI_Reduce(sums, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%ld %ld\n", all[0], all[1]);
  MPI_Finalize();
  return 0;
}
