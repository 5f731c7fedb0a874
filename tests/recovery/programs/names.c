/* names DIRECTORY: each rank works in DIRECTORY/rank<R>, where md.log lies from an earlier job, and does to names of files what programs do: keeps the old
   log under another name, hands checkpoints on from one name to the next, opens for changes what is not there yet, makes files that must not be there,
   with names that nobody has, links, and logs in several directories. What it has drawn and read is sent. */
#define _FILE_OFFSET_BITS 64
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "line_files.h"
#include "program_parts.h"

enum { ROUNDS = 30 };

static uint64_t state = 1;
static int rank;

/* Asked as GROMACS does. */
static int exists(const char* path) {
  FILE* file = fopen(path, "r");
  if (file) fclose(file);
  return file != NULL;
}

/* What is not there is not there. */
static void hand_on(const char* from, const char* to, int there) {
  need((rename(from, to) == 0) == there && (there || errno == ENOENT), from);
}

static void draw(void) {
  uint64_t drawn = 0;
  struct timeval time;
  struct timezone zone;
  const int fd = open("/dev/urandom", O_RDONLY);
  need(fd >= 0 && read(fd, &drawn, sizeof drawn) == sizeof drawn && close(fd) == 0, "/dev/urandom");
  gettimeofday(&time, &zone);
  state = digest_of(digest_of(state, drawn), (uint64_t)time.tv_usec);
}

static void make_temporary(void) {
  char file[] = "tmp.XXXXXX", directory[] = "dir.XXXXXX";
  const int fd = mkstemp(file);
  need(fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0, file);
  need(mkdtemp(directory) != NULL, directory);
  for (const char* c = file; *c; ++c) state = digest_of(state, (uint64_t)*c);
  for (const char* c = directory; *c; ++c) state = digest_of(state, (uint64_t)*c);
  need(unlink(file) == 0 && rmdir(directory) == 0, "the removal of what is temporary");
}

static void log_in_a_directory(int round) {
  char name[20];
  snprintf(name, sizeof name, "case%d", round % 3);
  if (round < 3) need(mkdir(name, 0700) == 0, name);
  need(chdir(name) == 0, name);
  add_line("log", "a", round);
  need(chdir("..") == 0, "..");
}

/* What is none of the recorder's: sockets, shared memory, what a process that was started has made, other names of the same file. */
static void by_other_ways(int round) {
  char segment[64], command[128];
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "socket");
  unlink("socket");
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  need(fd >= 0 && bind(fd, (struct sockaddr*)&address, sizeof address) == 0, "bind");
  close(fd);
  unlink("pipe");
  need(mkfifo("pipe", 0600) == 0, "pipe");
  snprintf(segment, sizeof segment, "/dev/shm/holdfast-names.%d", (int)getppid() * 16 + rank);
  unlink(segment);
  const int shared = open(segment, O_CREAT | O_EXCL | O_RDWR, 0600);
  need(shared >= 0 && close(shared) == 0, segment);
  if (round == ROUNDS - 1) unlink(segment);
  snprintf(command, sizeof command, "rm -f a.tmp; echo %d > a.tmp", round);
  need(system(command) == 0 && rename("a.tmp", "a") == 0, "a");
  add_line("./s.tmp", "w", round);
  need(rename("s.tmp", "s") == 0 && remove(".//s") == 0, "s");
  need(read_line("a") == round, "a");
  snprintf(command, sizeof command, "echo %d > mesh", round);
  need(system(command) == 0 && read_line("mesh") == round, "mesh");
  add_line(".//t", "w", round);
  need(read_line("t") == round, "t");
}

/* By the names of calls that take a directory. */
static void by_directory(int round) {
  char linked[20], pointing[20], pipe[20];
  snprintf(linked, sizeof linked, "kept.%03d", round);
  snprintf(pointing, sizeof pointing, "at.%03d", round);
  snprintf(pipe, sizeof pipe, "pipe.%03d", round);
  need(linkat(AT_FDCWD, "chk", AT_FDCWD, linked, 0) == 0, linked);
  need(symlinkat(linked, AT_FDCWD, pointing) == 0, pointing);
  need(mkfifoat(AT_FDCWD, pipe, 0600) == 0, pipe);
  add_line("moved.tmp", "w", round);
  need(renameat2(AT_FDCWD, "moved.tmp", AT_FDCWD, "moved", 0) == 0, "moved");
}

static void work(int round) {
  struct stat status;
  char target[20];
  add_line("chk.new", "w", round);
  hand_on("chk.1", "chk.2", round > 1);
  hand_on("chk", "chk.1", round > 0);
  hand_on("chk.new", "chk", 1);
  const int fd = open("restart.dat", O_RDWR);
  need((fd >= 0) == (round > 5), "restart.dat");
  if (fd >= 0) close(fd);
  if (round == 5) add_line("restart.dat", "w", 77);
  add_line("claim", "wx", round);
  need(fopen("claim", "wx") == NULL && errno == EEXIST, "a second claim");
  need(unlink("claim") == 0, "claim");
  snprintf(target, sizeof target, "run.%03d", round);
  need((unlink("latest") == 0) == (round > 0), "latest");
  need(symlink(target, "latest") == 0 && lstat("latest", &status) == 0 && S_ISLNK(status.st_mode), "latest");
  FILE* again = fopen("/dev/null", "r");
  need(again && (again = freopen("again", "a", again)) != NULL, "again");
  fprintf(again, "%d\n", round);
  fclose(again);
  log_in_a_directory(round);
  if (round % 4 == 1) by_other_ways(round);
  if (round % 4 == 2) by_directory(round);
  if (round % 4 == 0) make_temporary();
  draw();
}

int main(int argc, char** argv) {
  char own[4096];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(own, sizeof own, "%s/rank%d", argc > 1 ? argv[1] : ".", rank);
  need(chdir(own) == 0, own);
  if (exists("md.log") && !exists("#md.log.1#")) need(rename("md.log", "#md.log.1#") == 0, "md.log");
  FILE* log = fopen("md.log", "w");
  need(log != NULL, "md.log");
  for (int round = 0; round < ROUNDS; ++round) {
    work(round);
    fprintf(log, "%d\n", round);
    fflush(log);
    uint64_t all = 0;
    MPI_Allreduce(&state, &all, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
    state = digest_of(state, all);
    usleep(5000);
  }
  fclose(log);
  MPI_Finalize();
  return 0;
}
