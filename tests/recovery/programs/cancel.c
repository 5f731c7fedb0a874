/* cancel MARK: rank 1 sends rank 2 many messages, then one synchronously, and tells rank 0 when that is done; rank 0 tells rank 2, which
   then cancels the receive that was there for it all along. It must have been matched, for its sender was told so. Before the cancel rank 2
   makes the file MARK, and waits to be killed, unless the file is there already. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "program_parts.h"

enum { many = 20000, bytes = 64, tag_many = 4, tag_synchronous = 5, tag_done = 7, patience_s = 30 };

static void receiver(const char* mark) {
  char buffer[bytes], synchronous[bytes] = {0}, done = 0;
  MPI_Request request;
  MPI_Irecv(synchronous, bytes, MPI_CHAR, 1, tag_synchronous, MPI_COMM_WORLD, &request);
  MPI_Recv(&done, 1, MPI_CHAR, 0, tag_done, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!is_there(mark)) {
    close(open(mark, O_CREAT | O_WRONLY, 0600));
    sleep(patience_s);
  }
  MPI_Status status;
  int cancelled = 0;
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &cancelled);
  if (cancelled) MPI_Recv(synchronous, bytes, MPI_CHAR, 1, tag_synchronous, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  long sum = 0;
  for (int i = 0; i < many; ++i) {
    MPI_Recv(buffer, bytes, MPI_CHAR, 1, tag_many, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum += (i + 1) % 7 * buffer[0];
  }
  printf("%s %d, sum %ld\n", cancelled ? "cancelled" : "received", synchronous[0], sum);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char buffer[bytes] = {0}, done = 1;
  if (rank == 0) {
    MPI_Recv(&done, 1, MPI_CHAR, 1, tag_done, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&done, 1, MPI_CHAR, 2, tag_done, MPI_COMM_WORLD);
  } else if (rank == 1) {
    for (int i = 0; i < many; ++i) {
      buffer[0] = (char)(i % 100);
      MPI_Send(buffer, bytes, MPI_CHAR, 2, tag_many, MPI_COMM_WORLD);
    }
    buffer[0] = 42;
    MPI_Ssend(buffer, bytes, MPI_CHAR, 2, tag_synchronous, MPI_COMM_WORLD);
    MPI_Send(&done, 1, MPI_CHAR, 0, tag_done, MPI_COMM_WORLD);
  } else if (rank == 2) {
    receiver(argv[1]);
  }
  MPI_Finalize();
  return 0;
}
