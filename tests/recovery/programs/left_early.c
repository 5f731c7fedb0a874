/* left_early FILE: four processes that use a session. Rank 3 leaves it at once, which waits for nobody. Rank 2, on the same node, writes a number to a file that it keeps open, and tells rank 0,
   which reads it there and answers. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#include "compute.h"
#include "need.h"

enum { ROUNDS = 60 };

static MPI_Comm all;

static void tell(int round, int to) { MPI_Send(&round, 1, MPI_INT, to, 1, all); }

static void hear(int round, int from) {
  int heard;
  MPI_Recv(&heard, 1, MPI_INT, from, 1, all, MPI_STATUS_IGNORE);
  need(heard == round, "the round is the same");
}

static void write_number(int file, int round) {
  char text[12];
  need(pwrite(file, text, (size_t)snprintf(text, sizeof text, "%9d\n", round), 0) == 10, "the number is written");
}

static void read_number(const char* name, int round) {
  int number = -1;
  FILE* file = fopen(name, "r");
  need(file && fscanf(file, "%d", &number) == 1 && fclose(file) == 0 && number == round, "the number is read");
}

int main(int argc, char** argv) {
  int rank;
  MPI_Session session;
  MPI_Group group;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "left_early", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &all);
  MPI_Group_free(&group);
  MPI_Comm_rank(all, &rank);
  const int file = rank == 2 ? open(argv[1], O_RDWR) : 0;
  for (int round = 0; round < ROUNDS; ++round) {
    if (rank == 2) write_number(file, round), tell(round, 0), hear(round, 0), compute(6000000);
    if (rank == 0) hear(round, 2), read_number(argv[1], round), tell(round, 2);
  }
  MPI_Comm_free(&all);
  MPI_Session_finalize(&session);
}
