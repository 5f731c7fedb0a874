/* moved DIRECTORY MODE: each rank adds lines to a log of its own, a round each, and does something to it, or to its directory, in between; an earlier job has left one of that name. */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

/* And the rank is killed at once, before it says anything to anybody. */
static void renamed_last(int round) {
  renamed(round);
  if (round == 10 && syscall(SYS_mkdir, "killed", 0700) == 0) kill(getpid(), SIGKILL); /* not recorded: by one of both, once */
}

/* It is cut, by its name and by its descriptor. */
static void cut(int round) {
  if (kept == NULL) kept = open_to_add(log_name);
  add_line(kept, round);
  if (round == 5) need(truncate(log_name, 2) == 0, "truncate");
  if (round == 10) need(ftruncate(fileno(kept), 4) == 0, "ftruncate");
}

/* A log is in a directory that gets another name while it is open. And a directory is made in each round, and takes the place of the one of the round before. */
static void directory(int round) {
  char made[40], state[40], path[60];
  snprintf(made, sizeof made, "%s.part", next_name);
  if (kept == NULL) {
    snprintf(path, sizeof path, "%s/open", made);
    need(mkdir(made, 0700) == 0, made);
    kept = open_to_add(path);
  }
  add_line(kept, round);
  if (round == 10) need(rename(made, next_name) == 0, next_name);

  snprintf(made, sizeof made, "%s.new", log_name);
  snprintf(state, sizeof state, "%s.state", log_name);
  need(mkdir(made, 0700) == 0, made);
  snprintf(path, sizeof path, "%s/in%d", made, round);
  FILE* file = fopen(path, "w");
  need(file != NULL, path);
  add_line(file, round);
  fclose(file);
  snprintf(path, sizeof path, "%s/in%d", state, round - 1);
  if (round > 0) need(unlink(path) == 0 && rmdir(state) == 0, state);
  need(rename(made, state) == 0, state);
}

/* Rank 0 makes a directory for the files of all, each syncs it, and rank 0 removes it. */
static void synced(int round) {
  char directory[20], path[40];
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(directory, sizeof directory, "of_round%d", round);
  snprintf(path, sizeof path, "%s/%s", directory, log_name);
  if (rank == 0) need(mkdir(directory, 0700) == 0, directory);
  MPI_Barrier(MPI_COMM_WORLD);
  FILE* file = open_to_add(path);
  add_line(file, round);
  fclose(file);
  int fd = open(directory, round % 2 == 0 ? O_RDONLY : O_RDONLY | O_DIRECTORY);
  need(fd >= 0 && fsync(fd) == 0 && close(fd) == 0, directory);
  need(unlink(path) == 0, path);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) need(rmdir(directory) == 0, directory);
}

static const struct {
  const char* name;
  void (*in_round)(int);
} modes[] = {{"rotated", rotated}, {"renamed", renamed}, {"renamed_last", renamed_last}, {"cut", cut}, {"directory", directory}, {"synced", synced}};

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
