// Files that are read and written by several ranks, each its part, or in turn; and files of this kind that one rank has alone. What each reads is printed at the end.
//
//   recovery_parts DIRECTORY   in it are old (at least 8 bytes) and large (of more than 1 MiB)
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "need.h"

enum { steps = 12, slot = 24, page = 4096, large_part = 300000 };

static int rank, ranks;
static char path[4096];
static long sum;  // of what this rank has read

static const char* at(const char* directory, const char* name) {
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

// The counter of this rank goes one on.
static void count_in_stream(FILE* file) {
  long value = 0;
  need(fseek(file, rank * slot, SEEK_SET) == 0, "fseek");
  if (fread(&value, sizeof value, 1, file) != 1) value = 0;
  sum += value++;
  need(fseek(file, rank * slot, SEEK_SET) == 0, "fseek");
  need(fwrite(&value, sizeof value, 1, file) == 1, "fwrite");
  need(fflush(file) == 0, "fflush");
}

static void count_at(int fd, off_t place) {
  long value = 0;
  if (pread(fd, &value, sizeof value, place) != sizeof value) value = 0;
  sum += value++;
  need(pwrite(fd, &value, sizeof value, place) == sizeof value, "pwrite");
}

static int open_to_update(const char* name, int flags) {
  const int fd = open(name, O_RDWR | flags, 0666);
  need(fd >= 0, name);
  return fd;
}

static void write_whole(const char* name, const char* text) {
  FILE* file = fopen(name, "w");
  need(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, name);
}

static void add_line(const char* name) {
  FILE* file = fopen(name, "a");
  need(file != NULL && fputs("a line\n", file) >= 0 && fclose(file) == 0, name);
}

// Ranks take turns, and each opens the file anew.
static void count_in_turn(const char* name, int step) {
  if (step % ranks != rank) return;
  long value = 0;
  FILE* file = fopen(name, "r+");
  need(file != NULL, name);
  need(fread(&value, sizeof value, 1, file) == 1, "fread");
  sum += value;
  value += 3;
  rewind(file);
  need(fwrite(&value, sizeof value, 1, file) == 1 && fseek(file, 0, SEEK_END) == 0, "fwrite");
  fprintf(file, "%d by %d\n", step, rank);
  need(fclose(file) == 0, "fclose");
}

// Written, read from the beginning to the end, and begun anew.
static void use_scratch(FILE* file, int step) {
  char line[64];
  need(fseek(file, 0, SEEK_END) == 0, "fseek");
  for (int i = 0; i < 3; ++i) fprintf(file, "%d %d\n", step, i);
  rewind(file);
  while (fgets(line, sizeof line, file)) sum += 7 * atoi(line) + 1;
  if (step % 4 == 3) need(fflush(file) == 0 && ftruncate(fileno(file), 5) == 0, "ftruncate");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  need(argc == 2, "a directory");
  const char* directory = argv[1];
  char own[64], work[64];
  snprintf(own, sizeof own, "own%d", rank);
  snprintf(work, sizeof work, "work%d", rank);

  FILE* stream = rank == 0 ? fopen(at(directory, "stream"), "w+") : NULL;
  int mapped = -1;
  if (rank == 0) {
    mapped = open_to_update(at(directory, "mapped"), O_CREAT);
    need(ftruncate(mapped, ranks * page) == 0, "ftruncate");
    const int turns = open(at(directory, "turns"), O_WRONLY | O_CREAT | O_TRUNC, 0666), header = open(at(directory, "header"), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    const long first = 1000;
    need(write(turns, &first, sizeof first) == sizeof first && write(header, "HEADER 0\n", 9) == 9, "write");
    close(turns);
    close(header);
  }
  barrier();
  if (rank != 0) stream = fopen(at(directory, "stream"), "r+");
  need(stream != NULL, "stream");
  const int direct = open_to_update(at(directory, "direct"), O_CREAT), copy = dup(direct);
  if (rank != 0) mapped = open_to_update(at(directory, "mapped"), 0);
  const int header = rank == 0 ? -1 : open_to_update(at(directory, "header"), 0);
  FILE* scratch = fopen(at(directory, own), "w+");
  need(scratch != NULL, own);
  int worked = open_to_update(at(directory, work), O_CREAT);
  barrier();
  long* counters = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, mapped, rank * page);
  need(counters != MAP_FAILED, "mmap");
  close(mapped);
  int large = -1, old = -1;
  for (int i = 0; i < steps; ++i) {
    count_in_stream(stream);
    count_at(direct, rank * slot);
    need(lseek(direct, 1000 * (rank + 1) + 10 * i, SEEK_SET) >= 0 && write(copy, "copy\n", 5) == 5, "copy");
    sum += counters[i]++ + counters[0]++;
    if (header >= 0) need(lseek(header, 20 * rank, SEEK_SET) >= 0 && dprintf(header, "%d at %d\n", rank, i) > 0, "header");
    count_in_turn(at(directory, "turns"), i);
    if (rank == 1) old = open_to_update(at(directory, "old"), 0), count_at(old, 0), close(old);
    use_scratch(scratch, i);
    count_at(worked, 8 * (i / 3));
    if (i % 5 == 4) close(worked), worked = open_to_update(at(directory, work), O_CREAT | (i == 9 ? O_TRUNC : 0));
    if (i == 2) large = open_to_update(at(directory, "large"), 0);
    if (i >= 2) {
      char* part = malloc(large_part);
      memset(part, 'a' + i, large_part / 10);
      need(pwrite(large, part, large_part / 10, (rank + 1) * large_part + (i - 2) * large_part / 10) == large_part / 10, "pwrite");
      free(part);
    }
    if (i == 3 && rank == 0) write_whole(at(directory, "passed"), "by 0\n");
    if (i == 4 && rank == 2) write_whole(at(directory, "taken"), "by 2\n"), add_line(at(directory, "taken_log"));
    if (i == 5 && rank == 0) need(unlink(at(directory, "taken")) == 0 && unlink(at(directory, "taken_log")) == 0, "taken");
    barrier();
    if (i == 3 && rank == 1) need(unlink(at(directory, "passed")) == 0, "unlink"), write_whole(at(directory, "passed"), "by 1\n");
  }
  if (rank == 0) {
    const int again = open_to_update(at(directory, "header"), 0);
    need(pwrite(again, "HEADER 9", 8, 0) == 8, "pwrite");
    close(again);
  }
  barrier();
  long sums = 0;
  MPI_Reduce(&sum, &sums, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("read %ld\n", sums);
  MPI_Finalize();
}
