/* queued: rank 1 takes two messages in whatever order they come and tells rank 0 which was first, which tells rank 2. Rank 2 has that in its queue
   for two seconds before it takes it, and then asks rank 1 too: both must say the same. When rank 1 is lost meanwhile with what it determined,
   rank 0 is an orphan and its message must leave the queue (docs/optimist.md), so that it can come again. Gives up after 10 s. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { FIRST = 1, ORDER, QUESTION, ANSWER, NEVER };

static void tell_order(void) {
  int first, second;
  MPI_Recv(&first, 1, MPI_INT, MPI_ANY_SOURCE, FIRST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(&first, 1, MPI_INT, 0, ORDER, MPI_COMM_WORLD);
  MPI_Recv(&second, 1, MPI_INT, MPI_ANY_SOURCE, FIRST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Recv(&second, 1, MPI_INT, 2, QUESTION, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(&first, 1, MPI_INT, 2, ANSWER, MPI_COMM_WORLD);
}

static int comes_within(double seconds, int source, int tag) {
  int found = 0;
  for (double start = MPI_Wtime(); !found && MPI_Wtime() - start < seconds;) {
    MPI_Iprobe(source, tag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    usleep(1000);
  }
  return found;
}

static void pass_on(void) {
  int order;
  MPI_Recv(&order, 1, MPI_INT, 1, ORDER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(&order, 1, MPI_INT, 2, ORDER, MPI_COMM_WORLD);
}

static void compare(void) {
  int passed_on, answer, question = 0;
  comes_within(2, 1, NEVER);
  MPI_Send(&question, 1, MPI_INT, 1, QUESTION, MPI_COMM_WORLD);
  MPI_Recv(&answer, 1, MPI_INT, 1, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!comes_within(10, 0, ORDER)) {
    printf("the message of rank 0 does not come\n");
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Recv(&passed_on, 1, MPI_INT, 0, ORDER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf(passed_on == answer ? "both say the same\n" : "they say different things\n");
  fflush(stdout);
  if (passed_on != answer) MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  usleep(300 * 1000);
  if (rank != 1) MPI_Send(&rank, 1, MPI_INT, 1, FIRST, MPI_COMM_WORLD);
  if (rank == 0) pass_on();
  else if (rank == 1) tell_order();
  else compare();
  MPI_Finalize();
  return 0;
}
