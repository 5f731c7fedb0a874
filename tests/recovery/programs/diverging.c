/* Rank 1 sends to rank 0, then loses its node. What it does in its second life may be another thing than before: one message, number AT, has
   another tag, length or payload.

       diverging MARK none|tag|length|payload|reduce COUNT BYTES AT        MARK: a file that is not there yet */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program_parts.h"

enum { behind = 3 };  /* messages after the loss */

static const char *mark, *mode;
static int count, bytes, at;

static void fill(unsigned char* out, int number, int differs) {
  for (int i = 0; i < bytes; ++i) out[i] = (unsigned char)(number * 7 + i + (differs ? 1 : 0));
}

/* The agent is this process's parent; with it the node is lost. */
static void lose_node(void) {
  int file = open(mark, O_CREAT | O_WRONLY, 0600);
  if (file < 0) MPI_Abort(MPI_COMM_WORLD, 2);
  close(file);
  kill(getppid(), SIGKILL);
  pause();
}

static void send_all(int again) {
  unsigned char* out = malloc((size_t)bytes);
  for (int i = 0; i < count + behind; ++i) {
    const int differs = again && i == at;
    fill(out, i, differs && !strcmp(mode, "payload"));
    const int length = bytes - (differs && !strcmp(mode, "length"));
    const int tag = 7 + (differs && !strcmp(mode, "tag"));
    if (!strcmp(mode, "reduce")) {
      long mine = i + (differs ? 1000 : 0);
      MPI_Reduce(&mine, NULL, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    } else {
      MPI_Send(out, length, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
    }
    if (i + 1 != count) continue;
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!again) lose_node();
  }
  free(out);
}

static void receive_all(void) {
  unsigned char* in = malloc((size_t)bytes);
  uint64_t digest = digest_seed;
  for (int i = 0; i < count + behind; ++i) {
    if (!strcmp(mode, "reduce")) {
      long mine = 1, sum;
      MPI_Reduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
      digest = digest_of(digest, (uint64_t)sum);
    } else {
      MPI_Recv(in, bytes, MPI_BYTE, 1, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      digest = digest_of(digest, in[bytes - 1]);
    }
    if (i + 1 == count) MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
  }
  printf("digest %016llx\n", (unsigned long long)digest);
  free(in);
}

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  mark = argv[1];
  mode = argv[2];
  count = atoi(argv[3]);
  bytes = atoi(argv[4]);
  at = atoi(argv[5]);
  const int again = is_there(mark);
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) receive_all();
  else send_all(again);
  /* What rank 0 has asked rank 1 for, to compare it, comes in between. */
  for (int i = 0; i < 50; ++i) {
    usleep(2000);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
