/* listed DIRECTORY: rank 1 lists a directory in which all ranks make and remove files, by readdir, scandir and glob, again and again, and begins from the newest of its own files that it finds
   before; all that it finds it tells rank 0, which prints a sum of it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <glob.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compute.h"
#include "need.h"

enum { ROUNDS = 24 };

static void make(const char* what, int rank, int round) {
  char name[40];
  snprintf(name, sizeof name, "%s_%d_%d", what, rank, round);
  FILE* file = fopen(name, "w");
  need(file && fprintf(file, "%d\n", round) > 0 && fclose(file) == 0, name);
}

static void remove_made(const char* what, int rank, int round) {
  char name[40];
  snprintf(name, sizeof name, "%s_%d_%d", what, rank, round);
  need(round < 0 || unlink(name) == 0, name);
}

static long sum_of(const char* name) {
  long sum = 5381;
  for (; *name; ++name) sum = (sum * 33 + *name) % 1000003;
  return sum;
}

static int is_no_directory(const struct dirent* entry) { return entry->d_name[0] != '.'; }

/* The order counts in neither. */
static long list(int round, int* newest) {
  long sum = 0;
  int found;
  if (round % 2 == 0) {
    DIR* directory = opendir(".");
    need(directory != NULL, "opendir");
    for (int again = 0; again < 2; ++again, rewinddir(directory)) {
      for (struct dirent* entry; (entry = readdir(directory));) {
        sum += sum_of(entry->d_name);
        if (sscanf(entry->d_name, "kept_1_%d", &found) == 1 && found > *newest) *newest = found;
      }
    }
    closedir(directory);
    return sum;
  }
  if (round % 4 == 1) {
    glob_t names;
    need(glob("{kept,made}_[12]_*", GLOB_BRACE | GLOB_NOCHECK, NULL, &names) == 0, "glob");
    for (size_t i = 0; i < names.gl_pathc; ++i) sum += (long)(i + 1) * sum_of(names.gl_pathv[i]);
    globfree(&names);
    return sum;
  }
  struct dirent** names;
  const int count = scandir(".", &names, is_no_directory, alphasort);
  need(count >= 0, "scandir");
  for (int i = 0; i < count; ++i) {
    sum += (i + 1) * sum_of(names[i]->d_name);
    free(names[i]);
  }
  free(names);
  return sum;
}

int main(int argc, char** argv) {
  int rank, newest = 0;
  long sum = 0, total = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  need(chdir(argv[1]) == 0, argv[1]);
  if (rank == 1) list(0, &newest);
  MPI_Bcast(&newest, 1, MPI_INT, 1, MPI_COMM_WORLD);
  for (int round = newest; round < ROUNDS; ++round) {
    if (rank == 1) {
      sum = list(round, &newest);
      MPI_Send(&sum, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD);
    }
    if (rank == 0) {
      MPI_Recv(&sum, 1, MPI_LONG, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      total = (31 * total + sum) % 1000000007;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) make("made", rank, round), remove_made("made", rank, round - 2);
    if (rank == 1) make("kept", rank, round);
    compute(1000000);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%ld\n", total);
  MPI_Finalize();
}
