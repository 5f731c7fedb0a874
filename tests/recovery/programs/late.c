/* late ROUNDS: each rank sends a large message to the next, makes many calls, sends smaller ones, and only then takes what came from the one
   before: payloads lie in their senders' logs meanwhile. Checks every byte. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGE = 1 << 20, MEDIUM = 30 * 1000, MEDIUM_COUNT = 6, CALLS = 40 };

static int rank, size;

static unsigned char expected(int source, int round, int message, int at) {
  return (unsigned char)(at * 7 + source * 31 + round * 101 + message * 57 + (at >> 9));
}

static void fill(unsigned char* buffer, int bytes, int round, int message) {
  for (int i = 0; i < bytes; ++i) buffer[i] = expected(rank, round, message, i);
}

static void check(const unsigned char* buffer, int bytes, int source, int round, int message) {
  for (int i = 0; i < bytes; ++i) {
    if (buffer[i] == expected(source, round, message, i)) continue;
    printf("rank %d, round %d: byte %d of message %d is wrong\n", rank, round, i, message);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static int bytes_of(int message) { return message == 0 ? LARGE : MEDIUM; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 20, next = (rank + 1) % size, before = (rank + size - 1) % size;
  unsigned char *out[MEDIUM_COUNT + 1], *in = malloc(LARGE);
  for (int m = 0; m <= MEDIUM_COUNT; ++m) out[m] = malloc((size_t)bytes_of(m));
  for (int round = 0; round < rounds; ++round) {
    MPI_Request sent[MEDIUM_COUNT + 1];
    for (int m = 0; m <= MEDIUM_COUNT; ++m) {
      fill(out[m], bytes_of(m), round, m);
      MPI_Isend(out[m], bytes_of(m), MPI_BYTE, next, m, MPI_COMM_WORLD, &sent[m]);
      for (int i = 0, found; m == 0 && i < CALLS; ++i) MPI_Iprobe(before, 99, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    }
    for (int m = MEDIUM_COUNT; m >= 0; --m) {
      MPI_Recv(in, bytes_of(m), MPI_BYTE, before, m, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      check(in, bytes_of(m), before, round, m);
    }
    MPI_Waitall(MEDIUM_COUNT + 1, sent, MPI_STATUSES_IGNORE);
  }
  if (rank == 0) printf("late: %d rounds\n", rounds);
  MPI_Finalize();
  return 0;
}
