/* Counts and displacements beyond 2^31 between two groups: of types without data, and of single elements far apart in
 * memory that is reserved and hardly touched. */
#include "far.h"

#include "../mpi/inter.h"

static int rank, size, remote_size, other[64]; /* the remote group's ranks in MPI_COMM_WORLD */
static MPI_Count ones[64], many[64];
static MPI_Aint elements[64], bytes[64];
static MPI_Datatype types[64];

static void clear(void) {
  for (int i = 0; i < remote_size; ++i) *at(far_out, i) = value(world_rank, other[i], 0), *at(far_in, i) = -1;
}
/* From each of the other group, for this rank or (its first element) for the first one here. */
static void arrived(int to) {
  for (int i = 0; i < remote_size; ++i) CHECK_INT(value(other[i], to, 0), *at(far_in, i));
}

static void rooted(MPI_Comm comm, int root, int first_here) {
  const int at_root = root == MPI_ROOT;
  clear();
  COLLECTIVE_C(Gather, Igather, far_out, 1, MPI_INT, far_in, 1, spread, root, comm);
  if (at_root) arrived(first_here);
  clear();
  COLLECTIVE_C(Gatherv, Igatherv, far_out, 1, MPI_INT, far_in, ones, elements, MPI_INT, root, comm);
  if (at_root) arrived(first_here);
  clear();
  COLLECTIVE_C(Scatter, Iscatter, far_out, 1, spread, far_in, 1, MPI_INT, root, comm);
  if (root >= 0) CHECK_INT(value(other[root], world_rank, 0), *at(far_in, 0));
  clear();
  COLLECTIVE_C(Scatterv, Iscatterv, far_out, ones, elements, MPI_INT, far_in, 1, MPI_INT, root, comm);
  if (root >= 0) CHECK_INT(value(other[root], world_rank, 0), *at(far_in, 0));
  clear();
  *at(far_in, 0) = *at(far_in, 1) = at_root ? world_rank : -1;
  COLLECTIVE_C(Bcast, Ibcast, far_in, 2, spread, root, comm);
  if (root >= 0) CHECK(*at(far_in, 0) == other[root] && *at(far_in, 1) == other[root]);
  COLLECTIVE_C(Bcast, Ibcast, far_in, MANY, nothing, root, comm);
}

static void to_all(MPI_Comm comm, int first_here) {
  clear();
  COLLECTIVE_C(Allgather, Iallgather, far_out, 1, MPI_INT, far_in, 1, spread, comm);
  arrived(first_here);
  clear();
  COLLECTIVE_C(Allgatherv, Iallgatherv, far_out, 1, MPI_INT, far_in, ones, elements, MPI_INT, comm);
  arrived(first_here);
  clear();
  COLLECTIVE_C(Alltoall, Ialltoall, far_out, 1, spread, far_in, 1, spread, comm);
  arrived(world_rank);
  clear();
  COLLECTIVE_C(Alltoallv, Ialltoallv, far_out, ones, elements, MPI_INT, far_in, ones, elements, MPI_INT, comm);
  arrived(world_rank);
  clear();
  COLLECTIVE_C(Alltoallw, Ialltoallw, far_out, ones, bytes, types, far_in, ones, bytes, types, comm);
  arrived(world_rank);
  COLLECTIVE_C(Allgather, Iallgather, far_out, MANY, nothing, far_in, MANY, nothing, comm);
  COLLECTIVE_C(Alltoallv, Ialltoallv, far_out, many, elements, nothing, far_in, many, elements, nothing, comm);
}

static void add(void* in, void* inout, MPI_Count* length, MPI_Datatype* type) {
  MPI_Count lb, extent;
  MPI_Type_get_extent_c(*type, &lb, &extent);
  for (MPI_Count i = 0; i < *length; ++i) *(int*)((char*)inout + i * extent) += *(int*)((char*)in + i * extent);
}
static void reductions(MPI_Comm comm, int root) {
  MPI_Op op;
  int sum = 0;
  for (int r = 0; r < remote_size; ++r) sum += other[r];
  for (int commutes = 0; commutes < 2; ++commutes) {
    OK(MPI_Op_create_c(add, commutes, &op));
    *at(far_out, 0) = *at(far_out, 1) = world_rank;
    COLLECTIVE_C(Allreduce, Iallreduce, far_out, far_in, 2, spread, op, comm);
    CHECK(*at(far_in, 0) == sum && *at(far_in, 1) == sum);
    clear();
    *at(far_out, 0) = *at(far_out, 1) = world_rank;
    COLLECTIVE_C(Reduce, Ireduce, far_out, far_in, 2, spread, op, root, comm);
    if (root == MPI_ROOT) CHECK(*at(far_in, 0) == sum && *at(far_in, 1) == sum);
    for (int i = 0; i < size * remote_size; ++i) *at(far_out, i) = world_rank;
    COLLECTIVE_C(Reduce_scatter_block, Ireduce_scatter_block, far_out, far_in, remote_size, spread, op, comm);
    for (int i = 0; i < remote_size; ++i) CHECK_INT(sum, *at(far_in, i));
    OK(MPI_Op_free(&op));
  }
}

static void test(MPI_Comm inter) {
  OK(MPI_Comm_rank(inter, &rank));
  OK(MPI_Comm_size(inter, &size));
  OK(MPI_Comm_remote_size(inter, &remote_size));
  for (int i = 0; i < remote_size; ++i) {
    other[i] = world_of_remote(inter, i);
    ones[i] = 1, many[i] = MANY, elements[i] = i * (FAR / 4), bytes[i] = i * FAR, types[i] = MPI_INT;
  }
  for (int turn = 0; turn < 3; ++turn, ++form) { /* each in each form */
    int first_here;
    /* which is the first of this group, as the others see it */
    MPI_Group local, world;
    OK(MPI_Comm_group(inter, &local));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_translate_ranks(local, 1, (int[]){0}, world, &first_here));
    OK(MPI_Group_free(&local));
    OK(MPI_Group_free(&world));
    const int low = first_here < other[0], last = turn % 2 ? remote_size - 1 : 0;
    for (int side = 0; side < 2; ++side) {
      const int here = side == low, mine = turn % 2 ? size - 1 : 0;
      const int root = !here ? last : rank == mine ? MPI_ROOT : MPI_PROC_NULL;
      rooted(inter, root, first_here);
      reductions(inter, root);
    }
    to_all(inter, first_here);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  begin_far(world_size * world_size + 2, world_size + 2);
  on_intercommunicators(test);
  return end();
}
