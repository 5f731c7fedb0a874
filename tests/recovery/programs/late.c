/* late ROUNDS: each rank sends a large message to the next, makes many calls, sends smaller ones, and takes those that came from the one before; the
   large one it takes a round later, when the next has come too: always a payload lies in its sender's log. Checks every byte. */
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

static void send_large(unsigned char* buffer, int next, int round, MPI_Request* request) {
  fill(buffer, LARGE, round, 0);
  MPI_Isend(buffer, LARGE, MPI_BYTE, next, 0, MPI_COMM_WORLD, request);
}

static void take(unsigned char* in, int bytes, int source, int round, int message) {
  MPI_Recv(in, bytes, MPI_BYTE, source, message, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check(in, bytes, source, round, message);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 20, next = (rank + 1) % size, before = (rank + size - 1) % size;
  unsigned char *large[2] = {malloc(LARGE), malloc(LARGE)}, *out[MEDIUM_COUNT], *in = malloc(LARGE);
  MPI_Request large_sent[2], sent[MEDIUM_COUNT];
  for (int m = 0; m < MEDIUM_COUNT; ++m) out[m] = malloc(MEDIUM);
  for (int round = 0; round <= rounds; ++round) {
    if (round < rounds) {
      send_large(large[round % 2], next, round, &large_sent[round % 2]);
      for (int i = 0, found; i < CALLS; ++i) MPI_Iprobe(before, 99, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
      for (int m = 0; m < MEDIUM_COUNT; ++m) {
        fill(out[m], MEDIUM, round, 1 + m);
        MPI_Isend(out[m], MEDIUM, MPI_BYTE, next, 1 + m, MPI_COMM_WORLD, &sent[m]);
      }
      for (int m = MEDIUM_COUNT - 1; m >= 0; --m) take(in, MEDIUM, before, round, 1 + m);
      MPI_Waitall(MEDIUM_COUNT, sent, MPI_STATUSES_IGNORE);
    }
    if (round == 0) continue;
    take(in, LARGE, before, round - 1, 0);
    MPI_Wait(&large_sent[(round - 1) % 2], MPI_STATUS_IGNORE);
  }
  if (rank == 0) printf("late: %d rounds\n", rounds);
  MPI_Finalize();
  return 0;
}
