/* uncut DIRECTORY: files that more than one rank has to do with, each written once: all open the one into which rank 0 writes a result; rank 0 writes the beginning of one and
   rank 1 what comes behind it; rank 1 writes one that rank 0 reads for a while; and one rank asks for its file's end before it writes. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "need.h"

enum { LINES = 20000 };

static int count_lines_slowly(const char* path) {
  int lines = 0, c;
  FILE* file = fopen(path, "r");
  need(file != NULL, path);
  while ((c = getc(file)) != EOF) {
    if (c == '\n' && ++lines % 1000 == 0) usleep(5000);
  }
  fclose(file);
  return lines;
}

static void write_behind_the_end(const char* path) {
  FILE* file = fopen(path, "w");
  need(file != NULL, path);
  for (int i = 0; i < 3; ++i) need(fseek(file, 4, SEEK_END) == 0 && fprintf(file, "%ld", ftell(file)) > 0, "its end");
  fclose(file);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  need(argc > 1 && chdir(argv[1]) == 0, "the directory");
  FILE* result = fopen("result", "w");
  need(result != NULL, "result");
  if (rank == 1) {
    FILE* lines = fopen("lines", "w");
    for (int i = 0; i < LINES; ++i) fprintf(lines, "%d\n", i);
    fclose(lines);
    write_behind_the_end("end");
  } else {
    int field = open("field", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    need(write(field, "HEADER\n", 7) == 7 && close(field) == 0, "field");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    need(fprintf(result, "the result of a week\n") > 0 && fclose(result) == 0, "result");
    printf("%d lines\n", count_lines_slowly("lines"));
  } else {
    int field = open("field", O_WRONLY);
    need(pwrite(field, "rank 1\n", 7, 7) == 7 && close(field) == 0, "field");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
