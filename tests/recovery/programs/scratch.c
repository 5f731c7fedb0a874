/* scratch DIRECTORY: in each round rank 0 makes a directory, all write files in it in several ways, rank 0 counts their bytes and removes everything. A rank that begins again
   finds no directory there. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "need.h"

enum { ROUNDS = 40 };
static const char* const kinds[] = {"whole", "added", "new", "exclusive", "kept"};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const char* name_of(const char* kind, int round, int rank) {
  static char name[80];
  snprintf(name, sizeof name, "scratch_%d/%s_%d", round, kind, rank);
  return name;
}

static void write_line(FILE* file, int round) {
  need(file != NULL && fprintf(file, "%d\n", round) > 0 && fclose(file) == 0, "a file");
}

static void write_files(int round, int rank) {
  char line[20] = "";
  write_line(fopen(name_of("whole", round, rank), "w"), round);
  for (int i = 0; i < 2; ++i) write_line(fopen(name_of("added", round, rank), "a"), round);
  write_line(fopen(name_of("new", round, rank), "wx"), round);
  int fd = open(name_of("exclusive", round, rank), O_CREAT | O_EXCL | O_WRONLY, 0600);
  need(fd >= 0 && write(fd, "1234", 4) == 4 && close(fd) == 0, "exclusive");
  write_line(fopen(name_of("kept", round, rank), "w"), round);
  FILE* kept = fopen(name_of("kept", round, rank), "r");
  need(kept != NULL && fgets(line, sizeof line, kept) != NULL && atoi(line) == round && fclose(kept) == 0, "kept");
}

static long remove_files(int round, int rank) {
  long bytes = 0;
  struct stat status;
  for (int kind = 0; kind < KINDS; ++kind) {
    const char* name = name_of(kinds[kind], round, rank);
    need(stat(name, &status) == 0, name);
    bytes += status.st_size;
    need(unlink(name) == 0, name);
  }
  return bytes;
}

int main(int argc, char** argv) {
  int rank, ranks;
  char directory[20];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  need(argc > 1 && chdir(argv[1]) == 0, "the directory");
  for (int round = 0; round < ROUNDS; ++round) {
    snprintf(directory, sizeof directory, "scratch_%d", round);
    if (rank == 0) need(mkdir(directory, 0700) == 0, directory);
    MPI_Barrier(MPI_COMM_WORLD);
    write_files(round, rank);
    usleep(5000);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      long bytes = 0;
      for (int of = 0; of < ranks; ++of) bytes += remove_files(round, of);
      need(rmdir(directory) == 0, directory);
      printf("round %d: %ld bytes\n", round, bytes);
      fflush(stdout);
    }
  }
  MPI_Finalize();
  return 0;
}
