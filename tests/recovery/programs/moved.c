/* moved DIRECTORY MODE: each rank adds lines to a log of its own, a round each, and does something to it in between; an earlier job may have left one of that name. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "need.h"

enum { ROUNDS = 30 };

static char log_name[20], next_name[20];
static FILE* kept; /* the log, where it is open all the time */

static FILE* open_to_add(const char* path) {
  FILE* file = fopen(path, "a");
  need(file != NULL, path);
  return file;
}

static void add_line(FILE* file, int round) { need(fprintf(file, "%d\n", round) > 0 && fflush(file) == 0, "a line"); }

/* Each ten rounds it is closed and gets another name, and a new one is begun. */
static void rotated(int round) {
  FILE* file = open_to_add(log_name);
  add_line(file, round);
  fclose(file);
  if (round % 10 == 9) need(rename(log_name, next_name) == 0, "rename");
}

/* It gets another name while it is open. */
static void renamed(int round) {
  if (kept == NULL) kept = open_to_add(log_name);
  add_line(kept, round);
  if (round == 10) need(rename(log_name, next_name) == 0, "rename");
}

/* It is emptied, by its name and by its descriptor. */
static void cut(int round) {
  if (kept == NULL) kept = open_to_add(log_name);
  add_line(kept, round);
  if (round == 5) need(truncate(log_name, 2) == 0, "truncate");
  if (round == 10) need(ftruncate(fileno(kept), 4) == 0, "ftruncate");
}

static const struct {
  const char* name;
  void (*in_round)(int);
} modes[] = {{"rotated", rotated}, {"renamed", renamed}, {"cut", cut}};

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  need(argc > 2 && chdir(argv[1]) == 0, "the directory");
  snprintf(log_name, sizeof log_name, "log%d", rank);
  snprintf(next_name, sizeof next_name, "next%d", rank);
  for (int round = 0; round < ROUNDS; ++round) {
    for (unsigned i = 0; i < sizeof modes / sizeof *modes; ++i) {
      if (strcmp(argv[2], modes[i].name) == 0) modes[i].in_round(round);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (kept != NULL) fclose(kept);
  MPI_Finalize();
  return 0;
}
