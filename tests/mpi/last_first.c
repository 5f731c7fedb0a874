/* last_first: rank 0 sends more than rank 1 holds unexpected, and rank 1 takes the last message first. What comes behind all that it holds
   must come all the same. */
#include "check.h"

enum { COUNT = 3000, BYTES = 4096 };

static void send_all(char* all, MPI_Request* requests) {
  for (int i = 0; i < COUNT; ++i) {
    char* message = all + (size_t)i * BYTES;
    memset(message, i % 251, BYTES);
    OK(MPI_Isend(message, BYTES, MPI_CHAR, 1, i, MPI_COMM_WORLD, &requests[i]));
  }
  OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
}

static void receive_last_first(char* message) {
  for (int i = COUNT - 1; i >= 0; --i) {
    OK(MPI_Recv(message, BYTES, MPI_CHAR, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_INT((char)(i % 251), message[0]);
    CHECK_INT((char)(i % 251), message[BYTES - 1]);
  }
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &world_size));
  CHECK_INT(2, world_size);
  char* all = malloc((size_t)COUNT * BYTES);
  MPI_Request* requests = malloc(COUNT * sizeof *requests);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (world_rank == 0) send_all(all, requests);
  else receive_last_first(all);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  free(requests);
  free(all);
  return end();
}
