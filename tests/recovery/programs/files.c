/* files DIRECTORY [append]: each rank makes a directory, writes, renames, removes and reads files in it, and tells the others what it read; with
   `append` it adds to a file that was there before, which cannot be done twice. */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void write_file(const char* path, const char* mode, int value) {
  FILE* file = fopen(path, mode);
  if (!file) fail(path);
  fprintf(file, "%d\n", value);
  fclose(file);
}

static int read_sum(const char* path) {
  int sum = 0, value;
  FILE* file = fopen(path, "r");
  if (!file) return -1;
  while (fscanf(file, "%d", &value) == 1) sum += value;
  fclose(file);
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char base[512], a[600], b[600], log[600], lock[600], state[600];
  snprintf(base, sizeof base, "%s/rank%d", argv[1], rank);
  snprintf(a, sizeof a, "%s/a", base);
  snprintf(b, sizeof b, "%s/b", base);
  snprintf(log, sizeof log, "%s/log", base);
  snprintf(lock, sizeof lock, "%s/lock", base);
  snprintf(state, sizeof state, "%s/state", base);
  if (mkdir(base, 0700) != 0) fail(base);
  const int adds = argc > 2 && strcmp(argv[2], "append") == 0;
  for (int round = 0; round < 40; ++round) {
    int sum;
    const int before = read_sum(state); /* not there in the first round, then of the round before */
    if (before != (round == 0 ? -1 : round - 1)) fail("the state of the round before");
    write_file(a, "w", round);
    if (rename(a, b) != 0) fail("rename");
    write_file(log, "a", round);
    int fd = open(lock, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd < 0) fail(lock);
    close(fd);
    sum = read_sum(b) + read_sum(log) * 10 + before;
    if (unlink(lock) != 0) fail("unlink");
    if (rmdir(lock) == 0 || errno != ENOENT) fail("rmdir of what is not there");
    write_file(state, "w", round);
    if (adds) write_file(argv[3], "a", round);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("round %d: %d\n", round, sum);
    fflush(stdout);
    usleep(10000);
  }
  MPI_Finalize();
  return 0;
}
