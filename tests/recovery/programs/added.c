/* added DIRECTORY: rank 0 adds to logs, in several ways, in each round; one of them an earlier job has left. Nobody else does. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "need.h"

enum { ROUNDS = 40 };

static void add_line(const char* path, int round) {
  FILE* file = fopen(path, "a");
  need(file != NULL && fprintf(file, "%d\n", round) > 0 && fclose(file) == 0, path);
}

/* Begun anew, and added to, by a stream or by a descriptor. */
static void begin_and_add(const char* path, int round, int by_descriptor) {
  if (by_descriptor) {
    int fd = open(path, O_WRONLY | O_CREAT | (round == 0 ? O_TRUNC : O_APPEND), 0600);
    need(fd >= 0 && dprintf(fd, "%d\n", round) > 0 && close(fd) == 0, path);
  } else {
    FILE* file = fopen(path, round == 0 ? "w" : "a");
    need(file != NULL && fprintf(file, "%d\n", round) > 0 && fclose(file) == 0, path);
  }
}

/* Made once, and changed at its places later. */
static void patch(const char* path, int round) {
  if (round == 0) {
    FILE* file = fopen(path, "w");
    need(file != NULL && fprintf(file, "%080d", 0) > 0 && fclose(file) == 0, path);
  }
  int fd = open(path, O_WRONLY);
  char mark = (char)('a' + round % 26);
  need(fd >= 0 && pwrite(fd, &mark, 1, 2 * round) == 1 && close(fd) == 0, path);
}

static void write_line(int fd, int round) {
  char line[20];
  snprintf(line, sizeof line, "%d\n", round);
  need(write(fd, line, strlen(line)) == (ssize_t)strlen(line), "a descriptor");
}

/* What it was before, and what was added. */
static void check_read(const char* path, int first, int round) {
  int number, expected = first;
  FILE* file = fopen(path, "r");
  need(file != NULL, path);
  while (fscanf(file, "%d", &number) == 1) {
    need(number == expected, "the log as this rank sees it");
    expected = number == 1000 ? 0 : number + 1;
  }
  need(expected == round + 1, "the log's end as this rank sees it");
  fclose(file);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  need(argc > 1 && chdir(argv[1]) == 0, "the directory");
  FILE* kept = rank == 0 ? fopen("kept", "a") : NULL; /* what it holds back is written at the end, or when there is much */
  int fd = rank == 0 ? open("descriptor", O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
  int copy = rank == 0 ? dup(fd) : -1;
  int emptied = rank == 0 ? open("emptied", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600) : -1; /* by another opening too */
  for (int round = 0; round < ROUNDS; ++round) {
    if (rank == 0) {
      add_line("old", round);
      add_line("new", round);
      patch("patched", round);
      begin_and_add("begun", round, 0);
      begin_and_add("begun_too", round, 1);
      fprintf(kept, "%0200d\n", round);
      write_line(round % 2 == 0 ? fd : copy, round);
      if (round == 5) need(fclose(fopen("emptied", "w")) == 0, "emptied");
      write_line(emptied, round);
      if (round % 8 == 7) check_read("old", 1000, round);
      if (round % 8 == 3) check_read("new", 0, round);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(3000);
  }
  if (rank == 0) need(fclose(kept) == 0 && close(fd) == 0 && close(copy) == 0, "the end");
  MPI_Finalize();
  return 0;
}
