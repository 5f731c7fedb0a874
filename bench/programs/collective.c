/* Time of one blocking collective among all ranks, in microseconds.

     collective NAME:SIZE:CALLS ... barrier:CALLS ...

   SIZE: bytes of the whole vector of bcast, reduce, allreduce and scan (sum of doubles), else of one rank's block. The root goes
   around with the calls, so that nobody runs ahead; of a scan, in which the first ranks wait for nobody, counts what the slowest rank
   takes, as of all. At most CALLS calls (warm-up included), fewer when they would take longer than half a second. */
#include "bench.h"

enum { BATCHES = 9 };
static const double SETTLE_S = 0.1;

static const char USAGE[] = "usage: collective NAME:SIZE:CALLS ... barrier:CALLS ...";

typedef struct {
  int doubles, ranks;
  double *in, *out;
} Call;

typedef void Function(const Call* call, int root);

static void barrier(const Call* call, int root) {
  (void)call, (void)root;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void bcast(const Call* call, int root) { MPI_Bcast(call->out, call->doubles, MPI_DOUBLE, root, MPI_COMM_WORLD); }
static void reduce(const Call* call, int root) {
  MPI_Reduce(call->in, call->out, call->doubles, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
}
static void allreduce(const Call* call, int root) {
  (void)root;
  MPI_Allreduce(call->in, call->out, call->doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void scan(const Call* call, int root) {
  (void)root;
  MPI_Scan(call->in, call->out, call->doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void gather(const Call* call, int root) {
  MPI_Gather(call->in, call->doubles, MPI_DOUBLE, call->out, call->doubles, MPI_DOUBLE, root, MPI_COMM_WORLD);
}
static void scatter(const Call* call, int root) {
  MPI_Scatter(call->in, call->doubles, MPI_DOUBLE, call->out, call->doubles, MPI_DOUBLE, root, MPI_COMM_WORLD);
}
static void allgather(const Call* call, int root) {
  (void)root;
  MPI_Allgather(call->in, call->doubles, MPI_DOUBLE, call->out, call->doubles, MPI_DOUBLE, MPI_COMM_WORLD);
}
static void alltoall(const Call* call, int root) {
  (void)root;
  MPI_Alltoall(call->in, call->doubles, MPI_DOUBLE, call->out, call->doubles, MPI_DOUBLE, MPI_COMM_WORLD);
}
static void reduce_scatter(const Call* call, int root) {
  (void)root;
  MPI_Reduce_scatter_block(call->in, call->out, call->doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static const struct {
  const char* name;
  Function* function;
} COLLECTIVES[] = {{"bcast", bcast},         {"reduce", reduce},       {"allreduce", allreduce},
                   {"scan", scan},           {"gather", gather},       {"scatter", scatter},
                   {"allgather", allgather}, {"alltoall", alltoall},   {"reduce_scatter", reduce_scatter},
                   {"barrier", barrier}};

static Function* find(const char* name) {
  for (size_t i = 0; i < sizeof COLLECTIVES / sizeof COLLECTIVES[0]; ++i) {
    if (strcmp(COLLECTIVES[i].name, name) == 0) return COLLECTIVES[i].function;
  }
  fail(USAGE);
  return NULL;
}

static void calls(Function* function, const Call* call, long count) {
  for (long i = 0; i < count; ++i) function(call, (int)(i % call->ranks));
}

static void measure(const char* label, Function* function, long bytes, long most) {
  int rank;
  Call call = {(int)(bytes / (long)sizeof(double)), 1, NULL, NULL};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &call.ranks);
  const size_t room = (size_t)(bytes > 8 ? bytes : 8) * (size_t)call.ranks; /* the largest: a block of each rank */
  call.in = (double*)buffer(room);
  call.out = (double*)buffer(room);
  memset(call.in, 0, room);
  const long warm_up = most / 10 + 1;
  double start = now_s();
  calls(function, &call, warm_up);
  const long count = affordable(most - warm_up, warm_up, now_s() - start, 0.5);
  const int batches = count < BATCHES ? (int)count : BATCHES;
  double times[BATCHES];
  calls(function, &call, 1); /* all ranks have heard the number */
  for (int b = 0; b < batches; ++b) {
    start = now_s();
    calls(function, &call, count / batches);
    times[b] = (now_s() - start) / (double)(count / batches) * 1e6;
  }
  const double slowest = largest(median(times, batches));
  if (rank == 0) point(label, slowest);
  free(call.in);
  free(call.out);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  settle(SETTLE_S);
  for (int i = 1; i < argc; ++i) {
    long bytes = 0, most;
    char name[16], label[40];
    if (sscanf(argv[i], "barrier:%ld", &most) == 1 && most >= 2) {
      measure("barrier", barrier, 0, most);
    } else if (sscanf(argv[i], "%15[a-z_]:%ld:%ld", name, &bytes, &most) == 3 && bytes >= 8 && most >= 2) {
      snprintf(label, sizeof label, "%s:%ld", name, bytes);
      measure(label, find(name), bytes, most);
    } else {
      fail(USAGE);
    }
  }
  MPI_Finalize();
  return 0;
}
