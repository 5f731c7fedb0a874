/* relayed FILE [straight|together]: rank 2 writes a place of the file and tells rank 4, by way of rank 3 or straight, or both add something up before; rank 4 then writes the same place, which is so of
   rank 4 in the end. Rank 3 has places of its own, of which it tells nobody. With two ranks to a node nobody but rank 3 has had what rank 2 said, if their node is lost. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compute.h"
#include "need.h"

enum { ROUNDS = 60, PLACE = 8 };

static int file;

static void write_place(int rank, int round, int line) {
  char text[PLACE + 1];
  snprintf(text, sizeof text, "%d %5d\n", rank, round);
  need(pwrite(file, text, PLACE, (round + line * ROUNDS) * PLACE) == PLACE, "a place is written");
}

static int received(int source) {
  int round;
  MPI_Recv(&round, 1, MPI_INT, source, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return round;
}

static void send(int round, int to) { MPI_Send(&round, 1, MPI_INT, to, 1, MPI_COMM_WORLD); }

static void add_up(MPI_Comm half) {
  MPI_Request request;
  int one = 1, sum = 0;
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  need(sum == 2, "two ranks have added one each");
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int straight = argc > 2 && strcmp(argv[2], "straight") == 0;
  const int together = argc > 2 && strcmp(argv[2], "together") == 0;
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &half);
  file = open(argv[1], O_RDWR);
  need(file >= 0, "the file is opened");
  for (int round = 0; round < ROUNDS; ++round) {
    if (rank == 2) {
      write_place(rank, round, 0);
      compute(5000000);
      if (together) add_up(half);
      send(round, straight ? 4 : 3);
    }
    if (rank == 3 && !straight) {
      if (together) add_up(half);
      round = received(2);
      write_place(rank, round, 1);
      send(round, 4);
    }
    if (rank == 4) {
      round = received(straight ? 2 : 3);
      compute(5000000);
      write_place(rank, round, 0);
    }
  }
  MPI_Finalize();
}
