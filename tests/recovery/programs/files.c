/* files DIRECTORY [over FILE]: each rank makes a directory, writes, renames, removes, reads and looks at files in it, and tells the others what it
   read and saw; with `over` rank 0 puts another file of the same size in place of one that has been read. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
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

int __xstat(int version, const char* path, struct stat* status); /* stat of programs that are older than glibc 2.33 */

static int digest_of_status(const struct stat* status) {
  return (int)((status->st_mtim.tv_nsec ^ status->st_ctim.tv_sec ^ (long)status->st_mode) & 0xffff) + (int)status->st_size;
}

/* The ways to look at a file agree about its being there, and about the rest. What they say of it in the end. `again`: a rank that was killed
   between two looks has written the file anew since the first one, which says what it said then: they agree the second time. */
static int look_at_file(const char* path, int there, int again) {
  struct stat status, link, at, old;
  struct statx more;
  const int expected = there ? 0 : -1;
  if (access(path, F_OK) != expected || faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != expected || euidaccess(path, R_OK) != expected ||
      stat(path, &status) != expected || lstat(path, &link) != expected || fstatat(AT_FDCWD, path, &at, 0) != expected ||
      __xstat(1, path, &old) != expected || statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &more) != expected) {
    fprintf(stderr, "%s should %sbe there: ", path, there ? "" : "not ");
    fail("a look at it");
  }
  if (!there) return errno == ENOENT ? 0 : (fail(path), 0);
  const int seen = digest_of_status(&status);
  if (seen != digest_of_status(&link) || seen != digest_of_status(&at) || seen != digest_of_status(&old) || (long)more.stx_size != status.st_size ||
      more.stx_ino != status.st_ino || more.stx_mtime.tv_nsec != status.st_mtim.tv_nsec) {
    return again ? look_at_file(path, there, 0) : (fail("looks that differ"), 0);
  }
  struct stat opened;
  const int fd = open(path, O_RDONLY | (S_ISDIR(status.st_mode) ? O_DIRECTORY : 0));
  if (fd < 0 || fstat(fd, &opened) != 0) fail(path);
  if (opened.st_ino != link.st_ino || opened.st_dev != link.st_dev) fail("another file than was opened");
  close(fd);
  return seen;
}

static int look_at(const char* path, int there) { return look_at_file(path, there, 1); }

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
  const int replaces = argc > 2 && strcmp(argv[2], "over") == 0;
  if (replaces && read_sum(argv[3]) < 0) fail(argv[3]);
  for (int round = 0; round < 40; ++round) {
    int sum, seen = look_at(state, round > 0) + look_at(log, round > 0) + look_at(lock, 0);
    const int before = read_sum(state); /* not there in the first round, then of the round before */
    if (before != (round == 0 ? -1 : round - 1)) fail("the state of the round before");
    seen += (int)((uintptr_t)malloc(3000) & 0xffff); /* kept: it lies behind what that took of the heap and has given back */
    write_file(a, "w", round);
    if (rename(a, b) != 0) fail("rename");
    write_file(log, "a", round);
    int fd = open(lock, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd < 0) fail(lock);
    close(fd);
    seen += look_at(lock, 1) + look_at(a, 0) + look_at(b, 1) + look_at(base, 1);
    sum = read_sum(b) + read_sum(log) * 10 + before + seen;
    if (unlink(lock) != 0) fail("unlink");
    if (rmdir(lock) == 0 || errno != ENOENT) fail("rmdir of what is not there");
    write_file(state, "w", round);
    if (replaces && rank == 0) {
      write_file(a, "w", 1001 + round);
      if (rename(a, argv[3]) != 0) fail(argv[3]);
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("round %d: %d\n", round, sum);
    fflush(stdout);
    usleep(10000);
  }
  MPI_Finalize();
  return 0;
}
