/* unwritten STEPS: ranks send memory that they have not written, as it came from malloc and on the stack, the addresses of what they have, mapped or from
 * the heap, and errno. All are the same again in a replay: the library leaves the program's heap, stack and mappings alone. */
#include <errno.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

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

int main(int argc, char** argv) {
  const int steps = argc > 1 ? atoi(argv[1]) : 500;
  int rank, size;
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
  }
  if (rank == 0) printf("ok %d\n", steps);
  MPI_Finalize();
  return 0;
}
