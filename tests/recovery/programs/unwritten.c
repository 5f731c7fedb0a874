/* unwritten STEPS DIRECTORY: ranks send memory that they have not written, as it came from malloc and on the stack, the addresses of what they have, mapped or from
 * the heap, and errno, also where they have opened files. All are the same again in a replay: the library leaves the program's heap, stack and mappings alone. */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { KEPT = 64, LOCAL = 3000, LARGE = 400000 }; /* LARGE: malloc maps it */

static unsigned char* kept[KEPT];

static size_t size_of(int step) { return 16 + (size_t)step * 7919u % 3000; }

/* Work of the library's own: communicators, attributes of requests, receives from anybody. */
static void busy(int step, int rank, int size) {
  MPI_Comm made;
  MPI_Request requests[8];
  int in[8], out = step;
  if (step % 20 == 0) {
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Comm_free(&made);
  }
  if (step % 5 != 0) return;
  for (int i = 0; i < 4; ++i) MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < 4; ++i) MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, 2, MPI_COMM_WORLD, &requests[4 + i]);
  MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}

static void trade(const void* out, void* in, int bytes, int right, int left) {
  MPI_Sendrecv(out, bytes, MPI_BYTE, right, 3, in, bytes, MPI_BYTE, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static unsigned char heard[LOCAL];

/* What calls before it have left where its variables stand, at several depths; then it leaves something there itself. */
static void send_local(int depth, int step, int right, int left) {
  unsigned char local[LOCAL];
  unsigned char* volatile here = local; /* a compiler would say that nobody has written it */
  if (depth > 0) {
    send_local(depth - 1, step, right, left);
    here[depth] = (unsigned char)step;
    return;
  }
  trade(here, heard, LOCAL, right, left);
  for (int i = step % 16; i < LOCAL; i += 16) here[i] = (unsigned char)(heard[i] + step);
}

/* What the recorder has part in, on this stack too; and errno, which MPI leaves alone. */
static void call_others(int step, int right, int left) {
  static void* large[8];
  struct stat status;
  struct timespec now;
  uint64_t said[2], theirs[2];
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (step % 10 == 0) stat(step % 20 == 0 ? "/nowhere" : "/", &status);
  if (step % 7 == 0) {
    void** place = &large[(unsigned)step / 7 % 8];
    free(*place);
    *place = malloc(LARGE + (size_t)step * 64);
    said[0] = (uint64_t)(uintptr_t)*place;
  } else {
    said[0] = (uint64_t)now.tv_nsec;
  }
  said[1] = (uint64_t)errno;
  trade(said, theirs, sizeof said, right, left);
}

/* A descriptor that the library does not have: the numbers of those that it has differ, and with them those of what is opened. */
static int place;
static void keep_place(void) {
  do place = open("/dev/null", O_RDONLY);
  while (place >= 0 && place < 60);
}
static void need(int holds) {
  if (!holds) MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Files, some of which are there in a replay that were not there in the run before: errno is that of before, and nothing of them is on the stack. */
static void open_files(const char* directory, int rank, int step, int right, int left) {
  static char name[300], other[300];
  snprintf(name, sizeof name, "%s/file.%d.%d", directory, rank, step);
  snprintf(other, sizeof other, "%s/other.%d.%d", directory, rank, step);
  const int before = step % 100;
  int said[4] = {0, before}, theirs[4];
  errno = before;
  close(place);
  FILE* file = fopen(name, step % 2 ? "w" : "a");
  said[0] = errno;
  send_local(step % 4, step, right, left);
  need(file && fclose(file) == 0);
  const int fd = open(other, O_CREAT | O_WRONLY | (step % 3 ? O_TRUNC : 0), 0600);
  said[2] = errno;
  send_local(step % 3, step, right, left);
  need(fd == place && (step % 4 == 0 || rename(other, name) == 0));
  need((step % 8 == 1 || unlink(name) == 0) && dup2(0, place) == place);
  said[3] = errno;
  send_local(step % 5, step, right, left);
  trade(said, theirs, sizeof said, right, left);
}

int main(int argc, char** argv) {
  const int steps = argc > 1 ? atoi(argv[1]) : 500;
  int rank, size;
  keep_place();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int step = 0; step < steps; ++step) {
    const size_t bytes = size_of(step);
    unsigned char** place = &kept[(unsigned)step * 31u % KEPT];
    free(*place);
    *place = malloc(bytes);
    unsigned char* theirs_here = malloc(bytes);
    MPI_Sendrecv(*place, (int)bytes, MPI_BYTE, right, 0, theirs_here, (int)bytes, MPI_BYTE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    uint64_t address = (uint64_t)(uintptr_t)*place, theirs = 0;
    MPI_Sendrecv(&address, 1, MPI_UINT64_T, right, 1, &theirs, 1, MPI_UINT64_T, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    memset(*place, (int)(theirs >> 4) + step, bytes);
    free(theirs_here);
    busy(step, rank, size);
    send_local(step % 4, step, right, left);
    call_others(step, right, left);
    if (argc > 2 && step % 40 == 0) open_files(argv[2], rank, step / 40, right, left);
  }
  if (rank == 0) printf("ok %d\n", steps);
  MPI_Finalize();
  return 0;
}
