/* waiting SECONDS: rank 0 computes nothing for so long (asleep), and rank 1 waits for its message. Fails when waiting took more
   than 1% of a core. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double cpu_seconds(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int seconds = argc > 1 ? atoi(argv[1]) : 10;
  int rank, word = 0, dear = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    struct timespec pause = {seconds, 0};
    nanosleep(&pause, NULL);
    MPI_Send(&word, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  } else if (rank == 1) {
    const double before = cpu_seconds();
    MPI_Recv(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double used = cpu_seconds() - before;
    printf("waiting for %d s took %.1f ms of a core, %.2f%%\n", seconds, used * 1e3, used * 100 / seconds);
    dear = used > 0.01 * seconds;
  }
  MPI_Finalize();
  return dear;
}
