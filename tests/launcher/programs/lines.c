/* lines [MICROSECONDS]: rank 0 reads a line of standard input, everybody is told of it and answers with a sum of it and of what the others
   said; rank 0 prints the line and the sum. What is printed is a function of what was given. Each computes for so long at each line. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "program_parts.h"

enum { line_bytes = 256, payload_words = 8192 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  static uint64_t words[payload_words], others[payload_words];
  uint64_t digest = digest_seed;
  for (;;) {
    char line[line_bytes] = {0};
    if (rank == 0 && !fgets(line, sizeof line, stdin)) line[0] = 0;
    MPI_Bcast(line, line_bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (line[0] == 0) break;
    if (argc > 1) compute(atol(argv[1]));
    for (const char* c = line; *c; ++c) digest = digest_of(digest, (uint64_t)(unsigned char)*c);
    for (int i = 0; i < payload_words; ++i) words[i] = digest_of(digest, (uint64_t)(rank * payload_words + i));
    MPI_Sendrecv(words, payload_words, MPI_UINT64_T, (rank + 1) % size, 0, others, payload_words, MPI_UINT64_T, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    uint64_t own = digest, all = 0;
    for (int i = 0; i < payload_words; ++i) own = digest_of(own, others[i]);
    MPI_Allreduce(&own, &all, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
    if (rank == 0) {
      printf("%016llx %s", (unsigned long long)all, line);
      fflush(stdout);
    }
  }
  MPI_Finalize();
  return 0;
}
