/* one_collective NAME ROOT MEASURED COUNT: rank MEASURED lets the others go into a collective of 8 bytes (of each rank, where there are
   blocks), waits until what they send must be there, and calls it too; COUNT times. So that its calls go their shortest way. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANKS = 64 };
static long in[RANKS], out[RANKS];
static int root, ranks;
static MPI_Comm world = MPI_COMM_WORLD;

static void allgather(void) { MPI_Allgather(in, 1, MPI_LONG, out, 1, MPI_LONG, world); }
static void allreduce(void) { MPI_Allreduce(in, out, 1, MPI_LONG, MPI_SUM, world); }
static void alltoall(void) { MPI_Alltoall(in, 1, MPI_LONG, out, 1, MPI_LONG, world); }
static void barrier(void) { MPI_Barrier(world); }
static void bcast(void) { MPI_Bcast(in, 1, MPI_LONG, root, world); }
static void exscan(void) { MPI_Exscan(in, out, 1, MPI_LONG, MPI_SUM, world); }
static void gather(void) { MPI_Gather(in, 1, MPI_LONG, out, 1, MPI_LONG, root, world); }
static void reduce(void) { MPI_Reduce(in, out, 1, MPI_LONG, MPI_SUM, root, world); }
static void reduce_scatter_block(void) { MPI_Reduce_scatter_block(in, out, 1, MPI_LONG, MPI_SUM, world); }
static void scan(void) { MPI_Scan(in, out, 1, MPI_LONG, MPI_SUM, world); }
static void scatter(void) { MPI_Scatter(in, 1, MPI_LONG, out, 1, MPI_LONG, root, world); }

static const struct {
  const char* name;
  void (*call)(void);
} COLLECTIVES[] = {{"Allgather", allgather}, {"Allreduce", allreduce}, {"Alltoall", alltoall}, {"Barrier", barrier},
                   {"Bcast", bcast},         {"Exscan", exscan},       {"Gather", gather},     {"Reduce", reduce},
                   {"Scan", scan},           {"Scatter", scatter},     {"Reduce_scatter_block", reduce_scatter_block}};

static void (*named(const char* name))(void) {
  for (size_t i = 0; i < sizeof COLLECTIVES / sizeof COLLECTIVES[0]; ++i) {
    if (strcmp(COLLECTIVES[i].name, name) == 0) return COLLECTIVES[i].call;
  }
  fprintf(stderr, "one_collective: there is no %s here; add it to COLLECTIVES\n", name);
  exit(2);
}

/* The others have been told, and are in the call when this rank goes on. */
static void release_others(int self) {
  const struct timespec pause = {0, 5000000};
  for (int other = 0; other < ranks; ++other) {
    if (other != self) MPI_Send(NULL, 0, MPI_BYTE, other, 0, world);
  }
  nanosleep(&pause, NULL);
}

int main(int argc, char** argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: one_collective NAME ROOT MEASURED COUNT\n");
    return 2;
  }
  void (*call)(void) = named(argv[1]);
  root = atoi(argv[2]);
  const int measured = atoi(argv[3]);
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  if (ranks > RANKS) MPI_Abort(world, 2);
  for (int i = atoi(argv[4]); i > 0; --i) {
    if (rank == measured) release_others(rank);
    else MPI_Recv(NULL, 0, MPI_BYTE, measured, 0, world, MPI_STATUS_IGNORE);
    call();
  }
  MPI_Finalize();
  return 0;
}
