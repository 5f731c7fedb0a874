/* crowded MICROSECONDS: for each core another process computes, of nobody's job, and the ranks call MPI_Allreduce. Fails when one takes
   longer than that on average. 77, skipped: where these processes may not use all of the machine's cores, ranks yield as ever (decisions/0020,
   Limits). */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STRANGERS_MAX = 256, WARM_UP = 300, CALLS = 3000 };

static int start_strangers(pid_t* pids) {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  const int count = cores < STRANGERS_MAX ? (int)cores : STRANGERS_MAX;
  for (int i = 0; i < count; ++i) {
    pids[i] = fork();
    if (pids[i] < 0) MPI_Abort(MPI_COMM_WORLD, 2);
    if (pids[i] == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (volatile unsigned long n = 0;; ++n) continue;
    }
  }
  return count;
}

static void end_strangers(const pid_t* pids, int count) {
  for (int i = 0; i < count; ++i) {
    kill(pids[i], SIGKILL);
    waitpid(pids[i], NULL, 0);
  }
}

static void reduce(int calls) {
  double value = 1, sum;
  for (int i = 0; i < calls; ++i) MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static int on_all_cores(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == sysconf(_SC_NPROCESSORS_ONLN);
}

int main(int argc, char** argv) {
  const int skipped = !on_all_cores(); /* asked before ranks part */
  MPI_Init(&argc, &argv);
  const double most = argc > 1 ? atof(argv[1]) : 700;
  int rank, strangers = 0, slow = 0;
  pid_t pids[STRANGERS_MAX];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (skipped) {
    if (rank == 0) puts("skipped: some of the machine's cores are not for these processes");
    MPI_Finalize();
    return 77;
  }
  if (rank == 0) strangers = start_strangers(pids);
  reduce(WARM_UP);
  const double begun = MPI_Wtime();
  reduce(CALLS);
  const double each = (MPI_Wtime() - begun) * 1e6 / CALLS;
  if (rank == 0) {
    end_strangers(pids, strangers);
    printf("%d strangers: %.0f us an allreduce\n", strangers, each);
    slow = each > most;
  }
  MPI_Bcast(&slow, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return slow;
}
