/* own_files DIRECTORY [child]: what a rank does to files that it has made itself. A header that is written again, before the program goes on at the end, which it finds by seeking, by
   the file's size or by a copy of the descriptor; files that are closed and opened again to be changed; backups by links; and one file that two
   ranks write in turn, which one of them reads. With `child` rank 2 starts processes that read a file which it has open, and add a line to another one of its own. Each rank prints a sum of what it has read. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "need.h"

enum { ROUNDS = 24, MANY = 80 };

static int rank;
static long sum;

static const char* own(const char* name) {
  static char names[4][40];
  static int n;
  char* to = names[n++ % 4];
  snprintf(to, sizeof names[0], "%s_%d", name, rank);
  return to;
}

static int create(const char* name) {
  const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  need(fd >= 0, name);
  return fd;
}

static void write_line(const char* name, const char* mode, int number) {
  FILE* file = fopen(name, mode);
  need(file != NULL && fseek(file, 0, SEEK_END) == 0 && fprintf(file, "%d\n", number) > 0 && fclose(file) == 0, name);
}

static void read_all(const char* name) {
  FILE* file = fopen(name, "r");
  need(file != NULL, name);
  for (int c; (c = getc(file)) != EOF;) sum = (sum * 31 + c) % 1000000007;
  fclose(file);
}

static void backup(int round) {
  unlink(own("saved"));
  need(round == 0 || link(own("state"), own("saved")) == 0, "saved");
  write_line(own("new"), "w", round);
  need(rename(own("new"), own("state")) == 0, "state");
  if (round > 0) read_all(own("saved"));
}

static void child(int round) {
  static FILE* seen;
  char command[100];
  if (!seen) seen = fopen(own("seen"), "w");
  need(seen != NULL && fprintf(seen, "round %d\n", round) > 0 && fflush(seen) == 0, "seen");
  snprintf(command, sizeof command, "cp %s %s", own("seen"), own("copy"));
  need(system(command) == 0, command);
  read_all(own("copy"));
  write_line(own("by_both"), "w", round);
  snprintf(command, sizeof command, "echo of a child >> %s", own("by_both"));
  need(system(command) == 0, command);
  read_all(own("by_both"));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  need(argc > 1 && chdir(argv[1]) == 0, "the directory");
  FILE* stream = fopen(own("stream"), "w");
  FILE* many[MANY];
  for (int i = 0; i < MANY; ++i) {
    char name[20];
    snprintf(name, sizeof name, "many%d", i);
    many[i] = fopen(own(name), "w");
    need(many[i] != NULL, name);
  }
  const int sought = create(own("sought")), sized = create(own("sized")), copied = create(own("copied"));
  int copy = -1;
  close(-1);
  write_line(own("changed"), "w", rank);
  for (int round = 0; round < ROUNDS; ++round) {
    fprintf(stream, "round %d\n", round);
    if (round % 4 == 3) need(fseek(stream, 0, SEEK_SET) == 0 && fprintf(stream, "rounds:%d", round) > 0 && fseek(stream, 0, SEEK_END) == 0 && fflush(stream) == 0, "stream");
    need(pwrite(sought, &round, sizeof round, 100 * round) == sizeof round && lseek(sought, 0, SEEK_END) > 0 && write(sought, "end\n", 4) == 4, "sought");
    struct stat status;
    need(fstat(sized, &status) == 0 && pwrite(sized, "size\n", 5, status.st_size) == 5, "sized");
    if (round == 5) copy = dup(copied);
    need(write(copied, "copy\n", 5) == 5 && (copy < 0 || (lseek(copy, 2, SEEK_END) > 0 && write(copy, "2\n", 2) == 2)), "copied");
    write_line(own("changed"), "r+", round);
    backup(round);
    if (rank == 2 && argc > 2 && round % 8 == 0) child(round);
    if (rank == 0) write_line("turn", "w", round);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) write_line("turn", "w", 100 + round);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) read_all("turn");
    if (round % 5 == 4) read_all(own("changed"));
  }
  for (int i = 0; i < MANY; ++i) need(fseek(many[i], 0, SEEK_END) == 0 && fprintf(many[i], "%d\n", i) > 0 && fclose(many[i]) == 0, "many");
  printf("%d: %ld\n", rank, sum);
  fclose(stream);
  MPI_Finalize();
  return 0;
}
