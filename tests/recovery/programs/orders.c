/* orders ROUNDS MICROSECONDS [stdin|early|large] [UNTOLD]: in each round rank 0 takes a message from every other rank in the order in which they come, prints
   the order, and tells everybody a digest of all orders so far, and of the lines it was given on standard input. At the end every rank
   prints the digest of all that it was told: it must be that of the orders printed, whatever was lost and repeated in between. `early`: the upper half of the ranks leaves
   after half of the rounds. `large`: the digest travels in a message that is announced first. Rank UNTOLD is told nothing. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program_parts.h"

enum { large_bytes = 200000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 100;
  const long microseconds = argc > 2 ? atol(argv[2]) : 0;
  const int reads = argc > 3 && strcmp(argv[3], "stdin") == 0;
  const int early = argc > 3 && strcmp(argv[3], "early") == 0;
  const int digest_bytes = argc > 3 && strcmp(argv[3], "large") == 0 ? large_bytes : (int)sizeof(uint64_t);
  const int untold = argc > 4 ? atoi(argv[4]) : 0;
  char* buffer = calloc(1, large_bytes);
  uint64_t digest = digest_seed, told = digest;
  for (int round = 0; round < rounds; ++round) {
    const int present = early && round >= rounds / 2 ? size / 2 : size;
    if (rank >= present) break;
    const int bytes = round % 8 == 7 ? large_bytes : 64;
    if (rank == 0) {
      char line[4096];
      int used = snprintf(line, sizeof line, "round %d:", round);
      for (int i = 1; i < present; ++i) {
        MPI_Status status;
        MPI_Recv(buffer, large_bytes, MPI_CHAR, MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &status);
        digest = digest_of(digest, (uint64_t)status.MPI_SOURCE);
        used += snprintf(line + used, sizeof line - (size_t)used, " %d", status.MPI_SOURCE);
      }
      if (reads && fgets(buffer, 4096, stdin)) {
        for (const char* c = buffer; *c; ++c) digest = digest_of(digest, (uint64_t)(unsigned char)*c);
      }
      puts(line);
      fflush(stdout);
    } else {
      memset(buffer, rank, (size_t)bytes);
      MPI_Send(buffer, bytes, MPI_CHAR, 0, round, MPI_COMM_WORLD);
    }
    memcpy(buffer, &digest, sizeof digest);
    if (rank != 0 && rank != untold) MPI_Recv(buffer, digest_bytes, MPI_CHAR, 0, rounds, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int other = 1; rank == 0 && other < present; ++other) {
      if (other != untold) MPI_Send(buffer, digest_bytes, MPI_CHAR, other, rounds, MPI_COMM_WORLD);
    }
    memcpy(&digest, buffer, sizeof digest);
    told = digest_of(told, digest);
    /* Not in the order of the ranks, in which they come when they are all there. Most of it asleep: there are more of them than cores. */
    const long pause = (long)(digest_of(digest_of(digest_seed, (uint64_t)rank), (uint64_t)round) >> 7 & 3) * microseconds / 2;
    compute(pause / 4);
    if (pause > 0) usleep((useconds_t)(pause - pause / 4));
  }
  if (rank == 0 || rank != untold) printf("rank %d digest %016llx\n", rank, (unsigned long long)told);
  free(buffer);
  MPI_Finalize();
  return 0;
}
