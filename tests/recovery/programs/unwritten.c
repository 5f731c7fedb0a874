/* unwritten STEPS: ranks send memory that they have not written, as it came from malloc, and the addresses of what they have. Both are the same again
 * in a replay: the library leaves the program's heap alone. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 64 };

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
    unsigned char* in = malloc(bytes);
    MPI_Sendrecv(*place, (int)bytes, MPI_BYTE, right, 0, in, (int)bytes, MPI_BYTE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    uint64_t address = (uint64_t)(uintptr_t)*place, theirs = 0;
    MPI_Sendrecv(&address, 1, MPI_UINT64_T, right, 1, &theirs, 1, MPI_UINT64_T, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    memset(*place, (int)(theirs >> 4) + step, bytes);
    free(in);
    busy(step, rank, size);
  }
  if (rank == 0) printf("ok %d\n", steps);
  MPI_Finalize();
  return 0;
}
