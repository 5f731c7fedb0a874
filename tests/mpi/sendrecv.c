/* Sendrecv, Sendrecv_replace, Isendrecv, Isendrecv_replace: rings of contiguous and strided buffers, MPI_PROC_NULL
 * ends. */
#include "check.h"

enum { ints = 40000 };
static int out[ints], in[ints];

static void set(int seed) {
  for (int i = 0; i < ints; ++i) out[i] = seed * 100000 + i, in[i] = -1;
}

static void check_ring(int count) {
  MPI_Status status;
  MPI_Request request;
  int got;
  set(world_rank);
  OK(MPI_Sendrecv(out, count, MPI_INT, next_rank(), 1, in, ints, MPI_INT, previous_rank(), 1, MPI_COMM_WORLD, &status));
  OK(MPI_Get_count(&status, MPI_INT, &got));
  CHECK_INT(count, got);
  CHECK_INT(previous_rank(), status.MPI_SOURCE);
  for (int i = 0; i < count; ++i) CHECK_INT(previous_rank() * 100000 + i, in[i]);

  set(world_rank);
  OK(MPI_Sendrecv_replace(out, count, MPI_INT, next_rank(), 2, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status));
  CHECK_INT(previous_rank(), status.MPI_SOURCE);
  for (int i = 0; i < ints; ++i) CHECK_INT((i < count ? previous_rank() : world_rank) * 100000 + i, out[i]);

  set(world_rank);
  OK(MPI_Isendrecv(out, count, MPI_INT, next_rank(), 3, in, ints, MPI_INT, previous_rank(), MPI_ANY_TAG, MPI_COMM_WORLD,
                   &request));
  OK(MPI_Wait(&request, &status));
  CHECK_INT(3, status.MPI_TAG);
  for (int i = 0; i < count; ++i) CHECK_INT(previous_rank() * 100000 + i, in[i]);

  set(world_rank);
  OK(MPI_Isendrecv_replace(out, count, MPI_INT, next_rank(), 4, previous_rank(), 4, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Get_count(&status, MPI_INT, &got));
  CHECK_INT(count, got);
  for (int i = 0; i < ints; ++i) CHECK_INT((i < count ? previous_rank() : world_rank) * 100000 + i, out[i]);
}

static void check_line(void) {
  /* Ends of a line have no neighbour. */
  int left = world_rank > 0 ? world_rank - 1 : MPI_PROC_NULL;
  int right = world_rank < world_size - 1 ? world_rank + 1 : MPI_PROC_NULL;
  int value = world_rank, got = -7;
  MPI_Status status;
  MPI_Request request;
  OK(MPI_Sendrecv(&value, 1, MPI_INT, right, 5, &got, 1, MPI_INT, left, 5, MPI_COMM_WORLD, &status));
  CHECK_INT(left, status.MPI_SOURCE);
  CHECK_INT(left == MPI_PROC_NULL ? -7 : left, got);
  OK(MPI_Sendrecv_replace(&value, 1, MPI_INT, right, 5, left, 5, MPI_COMM_WORLD, &status));
  CHECK_INT(left == MPI_PROC_NULL ? world_rank : left, value);
  OK(MPI_Isendrecv_replace(&value, 1, MPI_INT, left, 5, right, 5, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, &status));
  CHECK_INT(right, status.MPI_SOURCE);
  OK(MPI_Isendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, &status));
  CHECK_INT(MPI_PROC_NULL, status.MPI_SOURCE);
}

static void check_strided(void) {
  MPI_Datatype vector;
  MPI_Request request;
  OK(MPI_Type_vector(ints / 4, 1, 4, MPI_INT, &vector));
  OK(MPI_Type_commit(&vector));
  set(world_rank);
  OK(MPI_Sendrecv_replace(out, 1, vector, next_rank(), 6, previous_rank(), 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; i < ints; ++i) CHECK_INT((i % 4 ? world_rank : previous_rank()) * 100000 + i, out[i]);
  set(world_rank);
  OK(MPI_Isendrecv_replace(out, 1, vector, next_rank(), 6, previous_rank(), 6, MPI_COMM_WORLD, &request));
  OK(MPI_Type_free(&vector)); /* while in use */
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < ints; ++i) CHECK_INT((i % 4 ? world_rank : previous_rank()) * 100000 + i, out[i]);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  check_ring(0);
  check_ring(1);
  check_ring(500);
  check_ring(ints);
  check_line();
  check_strided();
  return end();
}
