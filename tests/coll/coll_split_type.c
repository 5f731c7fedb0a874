/* MPI_Comm_split_type: by node, by hardware resource with and without a wish, by process set. The names of the processors
 * tell where the nodes are. */
#include "coll.h"

static char names[64][MPI_MAX_PROCESSOR_NAME];
static int nodes; /* how many there are */

static void learn(void) {
  int length;
  memset(names, 0, sizeof names);
  OK(MPI_Get_processor_name(names[world_rank], &length));
  OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, names, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, MPI_COMM_WORLD));
  for (int i = 0; i < world_size; ++i) {
    int j = 0;
    while (strcmp(names[i], names[j]) != 0) ++j;
    nodes += j == i;
  }
}

/* Those of MPI_COMM_WORLD that are on this node, in reverse order: that is `key`. */
static void check_node(MPI_Comm comm) {
  MPI_Group world, group;
  int size, expected = 0;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Comm_group(comm, &group));
  OK(MPI_Group_size(group, &size));
  for (int r = world_size - 1; r >= 0; --r) {
    if (strcmp(names[r], names[world_rank]) != 0) continue;
    int in_world;
    OK(MPI_Group_translate_ranks(group, 1, &expected, world, &in_world));
    CHECK_INT(r, in_world);
    ++expected;
  }
  CHECK_INT(expected, size);
  OK(MPI_Group_free(&world));
  OK(MPI_Group_free(&group));
  OK(MPI_Barrier(comm));
}

/* By this type and hint; `count`: of the members, 0: no communicator, -1: those of the node. */
static void split(int type, const char* key, const char* value, int count) {
  MPI_Comm comm;
  MPI_Info info = MPI_INFO_NULL;
  int size;
  if (key) {
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, value));
  }
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, type, -world_rank, info, &comm));
  CHECK((comm == MPI_COMM_NULL) == (count == 0));
  if (comm != MPI_COMM_NULL) {
    if (count < 0) check_node(comm);
    OK(MPI_Comm_size(comm, &size));
    if (count > 0) CHECK_INT(count, size);
    OK(MPI_Comm_free(&comm));
  }
  if (key) OK(MPI_Info_free(&info));
}

/* Without a wish: the next smaller part of the machine, which is told; down to where there is none. */
static void unguided(void) {
  char told[MPI_MAX_INFO_VAL + 1] = "";
  int length = sizeof told, flag;
  MPI_Comm comm, smaller;
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, -world_rank, info, &comm));
  CHECK((comm != MPI_COMM_NULL) == (nodes > 1));
  OK(MPI_Info_get_string(info, "mpi_hw_resource_type", &length, told, &flag));
  CHECK_INT(nodes > 1, flag);
  if (comm != MPI_COMM_NULL) {
    CHECK(strcmp(told, "mpi_shared_memory") == 0);
    check_node(comm);
    OK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &smaller));
    CHECK(smaller == MPI_COMM_NULL);
    OK(MPI_Comm_free(&comm));
  }
  OK(MPI_Info_free(&info));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  learn();
  split(MPI_COMM_TYPE_SHARED, NULL, NULL, -1);
  split(MPI_COMM_TYPE_SHARED, "mpi_hw_resource_type", "nonsense", -1);
  split(MPI_UNDEFINED, NULL, NULL, 0);
  for (int i = 0; i < 2; ++i) {
    const int type = i ? MPI_COMM_TYPE_RESOURCE_GUIDED : MPI_COMM_TYPE_HW_GUIDED;
    split(type, NULL, NULL, 0);
    split(type, "mpi_hw_resource_type", "mpi_shared_memory", -1);
    split(type, "mpi_hw_resource_type", "nonsense", 0);
    split(type, "mpi_pset_name", "mpi://WORLD", i ? world_size : 0);
    split(type, "mpi_pset_name", "mpi://SELF", i ? 1 : 0);
    split(type, "mpi_pset_name", "nonsense", 0);
  }
  unguided();
  MPI_Comm comm;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  FAILS(MPI_ERR_ARG, MPI_Comm_split_type(MPI_COMM_WORLD, 12345, 0, MPI_INFO_NULL, &comm));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  return end();
}
