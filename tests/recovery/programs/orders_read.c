/* orders_read DIRECTORY: in each round rank 0 writes a file, rank 1 reads it and prints the number in it. In one round it does so late, when rank 0 has been killed and writes
   what it wrote in the rounds before. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "need.h"

enum { ROUNDS = 25, LATE = 19 };

static void write_orders(int round) {
  for (int part = 0; part < 2; ++part) {
    FILE* file = fopen("orders", part == 0 ? "w" : "a");
    need(file != NULL, "orders");
    if (part == 0) fprintf(file, "%d\n", round);
    else fprintf(file, "more\n");
    need(fclose(file) == 0, "orders");
  }
}

static int read_orders(void) {
  int number = -1;
  char more[8] = "";
  FILE* file = fopen("orders", "r");
  need(file != NULL && fscanf(file, "%d %7s", &number, more) == 2, "orders");
  fclose(file);
  return number;
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  need(argc > 1 && chdir(argv[1]) == 0, "the directory");
  for (int round = 0; round < ROUNDS; ++round) {
    if (rank == 0) write_orders(round);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      need(read_orders() == round, "what was written");
      usleep(5000);
    } else {
      if (round == LATE) usleep(50000);
      printf("%d\n", read_orders());
      fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
