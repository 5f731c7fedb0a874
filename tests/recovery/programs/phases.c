/* phases MODE [NUMBER]: one phase of any-source messages to rank 0, then what MODE says. Rank 0 prints a digest.

     compute S    the other ranks compute S seconds outside MPI, while rank 0 waits for their last message
     finalize S   every rank calls MPI_Finalize and lives on for S seconds
     touch S      rank 0 holds 64 MiB of touched memory and works with the others for about S seconds
     hold S       the same with 1 GiB
     receive N    rank 0 receives N messages of 1 MiB from each; says on stderr how much memory of its own it had at most */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static uint64_t state = 1;

static void mix(uint64_t value) { state = (state ^ value) * UINT64_C(0x9e3779b97f4a7c15) + (state >> 31); }

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void to_rank_0(int count) {
  if (rank != 0) {
    for (long i = 0; i < count; ++i) {
      const long value = 1000000L * rank + i;
      MPI_Send(&value, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD);
    }
    return;
  }
  uint64_t sum = 0;
  for (int i = 0; i < count * (size - 1); ++i) {
    long value;
    MPI_Recv(&value, 1, MPI_LONG, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum += (uint64_t)value * (uint64_t)value;
  }
  mix(sum);
}

static void compute(double duration) {
  volatile double x = 1.0;
  const double until = seconds() + duration;
  while (rank != 0 && seconds() < until) {
    for (int i = 0; i < 100000; ++i) x = x * 1.0000001;
  }
  to_rank_0(1);
}

static void touch(double duration, size_t bytes) {
  char* memory = rank == 0 ? malloc(bytes) : NULL;
  if (memory) memset(memory, 1, bytes);
  for (int i = 0; i < (int)(duration * 100); ++i) {
    struct timespec pause = {0, 10000000};
    if (rank != 0) nanosleep(&pause, NULL);
    to_rank_0(1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (memory) mix((uint64_t)memory[bytes / 2]);
  free(memory);
}

/* Memory of this process alone, in KiB: pages of others' log segments that are mapped to be read are not counted. */
static long own_memory_kib(void) {
  char line[256];
  long kib = 0;
  FILE* status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) sscanf(line, "RssAnon: %ld", &kib);
  if (status) fclose(status);
  return kib;
}

static void receive(int count) {
  const int bytes = 1 << 20;
  long most_kib = 0;
  char* buffer = malloc((size_t)bytes);
  for (int i = 0; i < count; ++i) {
    if (rank != 0) {
      memset(buffer, rank + i, (size_t)bytes);
      MPI_Send(buffer, bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
    for (int source = 1; rank == 0 && source < size; ++source) {
      MPI_Recv(buffer, bytes, MPI_BYTE, source, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int x = 0; x < bytes; x += 65536) mix((uint64_t)(unsigned char)buffer[x]);
      const long kib = own_memory_kib();
      if (kib > most_kib) most_kib = kib;
    }
    if (i % 16 == 15) MPI_Barrier(MPI_COMM_WORLD);
  }
  free(buffer);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) fprintf(stderr, "own memory at most: %ld kB\n", most_kib);
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  const double number = argc > 2 ? atof(argv[2]) : 1.0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  to_rank_0(200);
  MPI_Barrier(MPI_COMM_WORLD); /* all of it has arrived: nothing waits for a sender's next call */
  if (strcmp(mode, "compute") == 0) compute(number);
  if (strcmp(mode, "touch") == 0) touch(number, (size_t)64 << 20);
  if (strcmp(mode, "hold") == 0) touch(number, (size_t)1 << 30);
  if (strcmp(mode, "receive") == 0) receive((int)number);
  if (rank == 0) printf("%s: %016llx\n", mode, (unsigned long long)state);
  MPI_Finalize();
  if (strcmp(mode, "finalize") == 0) usleep((useconds_t)(1e6 * number));
  if (rank == 0) printf("end\n");
  return 0;
}
