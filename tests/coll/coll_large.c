/* Counts and displacements beyond 2^31 in the large-count forms: of types without data, and of single elements far apart in
 * memory that is reserved and hardly touched. */
#include "far.h"

static void clear(void) {
  for (int i = 0; i < world_size; ++i) *at(far_out, i) = value(world_rank, i, 0), *at(far_in, i) = -1;
}
static void arrived(int all) {
  for (int i = 0; i < world_size; ++i) CHECK_INT(value(i, all ? 0 : world_rank, 0), *at(far_in, i));
}

static void rooted(void) {
  const int root = world_size - 1;
  MPI_Count ones[64];
  MPI_Aint elements[64];
  for (int i = 0; i < world_size; ++i) ones[i] = 1, elements[i] = i * (FAR / 4);
  clear();
  COLLECTIVE_C(Gather, Igather, far_out, 1, MPI_INT, far_in, 1, spread, root, MPI_COMM_WORLD);
  if (world_rank == root) arrived(1);
  clear();
  COLLECTIVE_C(Gatherv, Igatherv, far_out, 1, MPI_INT, far_in, ones, elements, MPI_INT, root, MPI_COMM_WORLD);
  if (world_rank == root) arrived(1);
  clear();
  COLLECTIVE_C(Scatter, Iscatter, far_out, 1, spread, far_in, 1, MPI_INT, root, MPI_COMM_WORLD);
  CHECK_INT(value(root, world_rank, 0), *at(far_in, 0));
  clear();
  COLLECTIVE_C(Scatterv, Iscatterv, far_out, ones, elements, MPI_INT, far_in, 1, MPI_INT, root, MPI_COMM_WORLD);
  CHECK_INT(value(root, world_rank, 0), *at(far_in, 0));
  clear();
  for (int i = 0; i < world_size; ++i) *at(far_in, i) = world_rank == root ? value(root, i, 0) : -1;
  COLLECTIVE_C(Bcast, Ibcast, far_in, world_size, spread, root, MPI_COMM_WORLD);
  for (int i = 0; i < world_size; ++i) CHECK_INT(value(root, i, 0), *at(far_in, i));
}

static void to_all(void) {
  MPI_Count ones[64];
  MPI_Aint elements[64], bytes[64];
  MPI_Datatype types[64];
  for (int i = 0; i < world_size; ++i) ones[i] = 1, elements[i] = i * (FAR / 4), bytes[i] = i * FAR, types[i] = MPI_INT;
  clear();
  COLLECTIVE_C(Allgather, Iallgather, far_out, 1, MPI_INT, far_in, 1, spread, MPI_COMM_WORLD);
  arrived(1);
  clear();
  COLLECTIVE_C(Allgatherv, Iallgatherv, far_out, 1, MPI_INT, far_in, ones, elements, MPI_INT, MPI_COMM_WORLD);
  arrived(1);
  for (int placed = 0; placed < 2; ++placed) {
    clear();
    if (placed) {
      for (int i = 0; i < world_size; ++i) *at(far_in, i) = *at(far_out, i);
    }
    const void* from = placed ? MPI_IN_PLACE : far_out;
    COLLECTIVE_C(Alltoall, Ialltoall, from, 1, spread, far_in, 1, spread, MPI_COMM_WORLD);
    arrived(0);
    if (!placed) clear();
    if (placed) {
      for (int i = 0; i < world_size; ++i) *at(far_in, i) = *at(far_out, i);
    }
    COLLECTIVE_C(Alltoallv, Ialltoallv, from, ones, elements, MPI_INT, far_in, ones, elements, MPI_INT, MPI_COMM_WORLD);
    arrived(0);
    if (!placed) clear();
    if (placed) {
      for (int i = 0; i < world_size; ++i) *at(far_in, i) = *at(far_out, i);
    }
    COLLECTIVE_C(Alltoallw, Ialltoallw, from, ones, bytes, types, far_in, ones, bytes, types, MPI_COMM_WORLD);
    arrived(0);
  }
}

static void to_neighbors(void) {
  MPI_Comm all;
  MPI_Count ones[64];
  MPI_Aint elements[64], bytes[64];
  MPI_Datatype types[64];
  int ranks[64];
  for (int i = 0; i < world_size; ++i) {
    ones[i] = 1, elements[i] = i * (FAR / 4), bytes[i] = i * FAR, types[i] = MPI_INT;
    ranks[i] = i;
  }
  int* volatile unweighted = MPI_UNWEIGHTED;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, world_size, ranks, unweighted, world_size, ranks, unweighted,
                                    MPI_INFO_NULL, 0, &all));
  clear();
  COLLECTIVE_C(Neighbor_allgather, Ineighbor_allgather, far_out, 1, MPI_INT, far_in, 1, spread, all);
  arrived(1);
  clear();
  COLLECTIVE_C(Neighbor_allgatherv, Ineighbor_allgatherv, far_out, 1, MPI_INT, far_in, ones, elements, MPI_INT, all);
  arrived(1);
  clear();
  COLLECTIVE_C(Neighbor_alltoall, Ineighbor_alltoall, far_out, 1, spread, far_in, 1, spread, all);
  arrived(0);
  clear();
  COLLECTIVE_C(Neighbor_alltoallv, Ineighbor_alltoallv, far_out, ones, elements, MPI_INT, far_in, ones, elements, MPI_INT, all);
  arrived(0);
  clear();
  COLLECTIVE_C(Neighbor_alltoallw, Ineighbor_alltoallw, far_out, ones, bytes, types, far_in, ones, bytes, types, all);
  arrived(0);
  /* In the small form displacements of this one are addresses all the same. */
  int small[64];
  for (int i = 0; i < world_size; ++i) small[i] = 1;
  clear();
  COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, far_out, small, bytes, types, far_in, small, bytes, types, all);
  arrived(0);
  COLLECTIVE_C(Neighbor_alltoall, Ineighbor_alltoall, far_out, MANY, nothing, far_in, MANY, nothing, all);
  OK(MPI_Comm_free(&all));
}

static MPI_Count seen, calls;
static void count_small(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)in, (void)inout, (void)type;
  CHECK(*length > 0);
  seen += *length;
  ++calls;
}
static void count_large(void* in, void* inout, MPI_Count* length, MPI_Datatype* type) {
  (void)in, (void)inout, (void)type;
  seen += *length;
  ++calls;
}

/* Counts that an int does not hold, of types without data: nothing moves, and nothing is cut off. */
static void without_data(void) {
  MPI_Count many[64];
  MPI_Aint none[64];
  MPI_Op op;
  for (int i = 0; i < world_size; ++i) many[i] = MANY + i, none[i] = 0;
  COLLECTIVE_C(Bcast, Ibcast, far_in, MANY, nothing, 0, MPI_COMM_WORLD);
  COLLECTIVE_C(Gather, Igather, far_out, MANY, nothing, far_in, MANY, nothing, 0, MPI_COMM_WORLD);
  COLLECTIVE_C(Scatterv, Iscatterv, far_out, many, none, nothing, far_in, many[world_rank], nothing, 0, MPI_COMM_WORLD);
  COLLECTIVE_C(Allgather, Iallgather, far_out, MANY, nothing, far_in, MANY, nothing, MPI_COMM_WORLD);
  COLLECTIVE_C(Alltoall, Ialltoall, far_out, MANY, nothing, far_in, MANY, nothing, MPI_COMM_WORLD);
  OK(MPI_Op_create(count_small, 1, &op));
  OK(MPI_Reduce_local_c(far_out, far_in, MANY, nothing, op)); /* a function of the small form: in several calls */
  CHECK_INT(MANY, seen);
  CHECK(calls > 1);
  COLLECTIVE_C(Allreduce, Iallreduce, far_out, far_in, MANY, nothing, op, MPI_COMM_WORLD);
  COLLECTIVE_C(Reduce_scatter_block, Ireduce_scatter_block, far_out, far_in, MANY, nothing, op, MPI_COMM_WORLD);
  OK(MPI_Op_free(&op));
  seen = calls = 0;
  OK(MPI_Op_create_c(count_large, 0, &op));
  OK(MPI_Reduce_local_c(far_out, far_in, MANY, nothing, op));
  CHECK_INT(MANY, seen);
  CHECK_INT(1, calls);
  OK(MPI_Op_free(&op));
}

/* User-defined operations on elements far apart, in all reductions. */
static void add(void* in, void* inout, MPI_Count* length, MPI_Datatype* type) {
  MPI_Count lb, extent;
  MPI_Type_get_extent_c(*type, &lb, &extent);
  for (MPI_Count i = 0; i < *length; ++i) *(int*)((char*)inout + i * extent) += *(int*)((char*)in + i * extent);
}
static void reductions(void) {
  MPI_Op op;
  MPI_Count ones[64];
  for (int i = 0; i < world_size; ++i) ones[i] = 1;
  for (int commutes = 0; commutes < 2; ++commutes) {
    int sum = 0;
    OK(MPI_Op_create_c(add, commutes, &op));
    for (int r = 0; r < world_size; ++r) sum += value(r, 1 % world_size, 0);
    clear();
    COLLECTIVE_C(Allreduce, Iallreduce, far_out, far_in, world_size, spread, op, MPI_COMM_WORLD);
    CHECK_INT(sum, *at(far_in, 1 % world_size));
    clear();
    COLLECTIVE_C(Reduce, Ireduce, far_out, far_in, world_size, spread, op, 0, MPI_COMM_WORLD);
    if (world_rank == 0) CHECK_INT(sum, *at(far_in, 1 % world_size));
    clear();
    COLLECTIVE_C(Scan, Iscan, far_out, far_in, world_size, spread, op, MPI_COMM_WORLD);
    if (world_rank == world_size - 1) CHECK_INT(sum, *at(far_in, 1 % world_size));
    clear();
    COLLECTIVE_C(Exscan, Iexscan, far_out, far_in, world_size, spread, op, MPI_COMM_WORLD);
    if (world_rank > 0 && world_rank == world_size - 1) {
      CHECK_INT(sum - value(world_rank, 1 % world_size, 0), *at(far_in, 1 % world_size));
    }
    clear();
    COLLECTIVE_C(Reduce_scatter, Ireduce_scatter, far_out, far_in, ones, spread, op, MPI_COMM_WORLD);
    if (world_rank == 1 % world_size) CHECK_INT(sum, *at(far_in, 0));
    clear();
    COLLECTIVE_C(Reduce_scatter_block, Ireduce_scatter_block, far_out, far_in, 1, spread, op, MPI_COMM_WORLD);
    if (world_rank == 1 % world_size) CHECK_INT(sum, *at(far_in, 0));
    OK(MPI_Op_free(&op));
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  begin_far(world_size + 1, world_size + 1);
  for (int i = 0; i < 3; ++i, ++form) { /* each in each form */
    rooted();
    to_all();
    to_neighbors();
    seen = calls = 0;
    without_data();
    reductions();
  }
  return end();
}
