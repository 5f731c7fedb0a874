/* For the tests of intercommunicators: pairs of groups of several shapes. */
#ifndef HOLDFAST_TESTS_INTER_H
#define HOLDFAST_TESTS_INTER_H
#include "check.h"

/* The group that this rank is in: halves, even and odd, the first against all others in reverse order. */
#define N_SHAPES 3
static int side_of(int shape, int rank) {
  return shape == 0 ? rank >= (world_size + 1) / 2 : shape == 1 ? rank % 2 : rank > 0;
}

/* Joins the two groups of a shape; the leader is the last rank of each. */
static MPI_Comm joined(int shape) {
  MPI_Comm local, inter;
  int side = side_of(shape, world_rank), size, leader, remote_leader = -1;
  OK(MPI_Comm_split(MPI_COMM_WORLD, side, shape == 2 ? -world_rank : world_rank, &local));
  OK(MPI_Comm_size(local, &size));
  leader = size - 1;
  /* The last one of the other group, in the order of its communicator. */
  for (int r = 0; r < world_size; ++r)
    if (side_of(shape, r) != side && (shape != 2 || remote_leader < 0)) remote_leader = r;
  OK(MPI_Intercomm_create(local, leader, MPI_COMM_WORLD, remote_leader, 7 + shape, &inter));
  OK(MPI_Comm_free(&local));
  return inter;
}

static void on_intercommunicators(void (*test)(MPI_Comm inter)) {
  if (world_size < 2) return;
  for (int shape = 0; shape < N_SHAPES; ++shape) {
    MPI_Comm inter = joined(shape);
    test(inter);
    OK(MPI_Comm_free(&inter));
  }
}

/* World rank of a rank of the remote group. */
static int world_of_remote(MPI_Comm inter, int rank) {
  MPI_Group remote, world;
  int result;
  OK(MPI_Comm_remote_group(inter, &remote));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Group_translate_ranks(remote, 1, &rank, world, &result));
  OK(MPI_Group_free(&remote));
  OK(MPI_Group_free(&world));
  return result;
}

static inline void silence_unused_inter(void) {
  (void)joined, (void)on_intercommunicators, (void)world_of_remote;
}
#endif
