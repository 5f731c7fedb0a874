/* independence WHEN COUNT: rank 1 sends COUNT messages of 64 bytes to rank 0 and then makes no MPI call for 3 s. Rank 0 says on stderr
   how long it then took until it had everything, counted from the last MPI_Send or, if later, from its first MPI_Recv. It
   prints a digest. WHEN has any of these letters:

     i   rank 0 calls MPI_Init late: half a second after rank 1
     r   rank 0 receives late: half a second after its MPI_Init
     o   the ranks have exchanged messages before: their channels are open
     l   messages of 4 MiB instead */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int message_bytes = 64;

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void stay_away(double duration) {
  const double until = seconds() + duration;
  const struct timespec pause = {0, 1000000};
  while (seconds() < until) nanosleep(&pause, NULL);
}

static void exchange(int peer) {
  for (int i = 0; i < 10; ++i) {
    int theirs;
    MPI_Sendrecv(&i, 1, MPI_INT, peer, 1, &theirs, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void send_all(int count) {
  char* message = malloc((size_t)message_bytes);
  for (int i = 0; i < count; ++i) {
    const double now = seconds();
    memset(message, i, (size_t)message_bytes);
    memcpy(message, &now, sizeof now);
    MPI_Send(message, message_bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
  }
  free(message);
}

static void receive_all(int count) {
  char* message = calloc(1, (size_t)message_bytes);
  uint64_t state = 1;
  const double begun = seconds();
  for (int i = 0; i < count; ++i) {
    MPI_Recv(message, message_bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    state = (state ^ (uint64_t)(unsigned char)message[message_bytes - 1]) * UINT64_C(0x9e3779b97f4a7c15) + (state >> 31);
  }
  double sent;
  memcpy(&sent, message, sizeof sent);
  fprintf(stderr, "had everything after %.3f s\n", seconds() - (begun > sent ? begun : sent));
  printf("%016llx\n", (unsigned long long)state);
  free(message);
}

int main(int argc, char** argv) {
  const char* when = argc > 1 ? argv[1] : "";
  const int count = argc > 2 ? atoi(argv[2]) : 1;
  const char* name = getenv("OMPI_COMM_WORLD_RANK");
  const int rank = name ? atoi(name) : 0;
  if (rank == 0 && strchr(when, 'i')) stay_away(0.5);
  if (strchr(when, 'l')) message_bytes = 4 << 20;
  MPI_Init(&argc, &argv);
  if (strchr(when, 'o')) exchange(1 - rank);
  if (rank == 0) {
    if (strchr(when, 'r')) stay_away(0.5);
    receive_all(count);
  } else {
    send_all(count);
    stay_away(3);
  }
  MPI_Finalize();
  return 0;
}
