/* Environment: what may be called before MPI_Init and after MPI_Finalize, versions, names, clocks, memory; attributes
 * of MPI_COMM_SELF are deleted first thing in MPI_Finalize, last set first, while MPI still works. */
#include "check.h"

static int deleted[2], deletions;

static int on_delete(MPI_Comm comm, int keyval, void* value, void* extra) {
  int finalized = -1, token = 17, got = 0;
  (void)keyval, (void)extra;
  MPI_Finalized(&finalized);
  CHECK_INT(0, finalized);
  OK(MPI_Sendrecv(&token, 1, MPI_INT, 0, 5, &got, 1, MPI_INT, 0, 5, comm, MPI_STATUS_IGNORE));
  CHECK_INT(17, got);
  deleted[deletions++] = *(int*)value;
  return MPI_SUCCESS;
}

static void check_memory(void) {
  MPI_Info info;
  void* memory = NULL;
  for (MPI_Aint size = 0; size < 100000; size += 9973) {
    OK(MPI_Alloc_mem(size, MPI_INFO_NULL, &memory));
    CHECK(memory != NULL);
    memset(memory, 1, (size_t)size);
    OK(MPI_Free_mem(memory));
  }
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "4096"));
  OK(MPI_Alloc_mem(100, info, &memory));
  CHECK_INT(0, (MPI_Aint)memory % 4096);
  OK(MPI_Free_mem(memory));
  OK(MPI_Info_free(&info));
}

/* Another compiler's types and literals are refused, those that are here are kept. */
static void check_fortran(void) {
  MPI_Info info;
  int yes = -1, no = 0, set = 0, seen[2];
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_integer_size", "8"));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  FAILS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Abi_set_fortran_info(info));
  FAILS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Abi_set_fortran_booleans(4, &yes, &no));
  OK(MPI_Info_set(info, "mpi_integer_size", "4"));
  yes = 1;
  OK(MPI_Abi_set_fortran_info(info));
  OK(MPI_Abi_set_fortran_booleans(4, &yes, &no));
  OK(MPI_Abi_get_fortran_booleans(4, &seen[0], &seen[1], &set));
  CHECK(set && seen[0] == 1 && seen[1] == 0);
  FAILS(MPI_ERR_ABI, MPI_Abi_set_fortran_info(info));
  OK(MPI_Info_free(&info));
}

int main(int argc, char** argv) {
  int flag = -1, version = 0, subversion = 0, length = 0, provided = -1, keyval, values[2] = {1, 2};
  char library[MPI_MAX_LIBRARY_VERSION_STRING], name[MPI_MAX_PROCESSOR_NAME];
  double before, after, began = MPI_Wtime();
  MPI_Info hardware;

  MPI_Initialized(&flag);
  CHECK_INT(0, flag);
  MPI_Finalized(&flag);
  CHECK_INT(0, flag);
  MPI_Get_version(&version, &subversion);
  CHECK_INT(MPI_VERSION, version);
  CHECK_INT(MPI_SUBVERSION, subversion);
  MPI_Get_library_version(library, &length);
  CHECK_INT((int)strlen(library), length);
  CHECK(length > 0);

  MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided); /* notes.py */
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  CHECK(provided >= MPI_THREAD_FUNNELED);
  OK(MPI_Query_thread(&flag));
  CHECK_INT(provided, flag);
  OK(MPI_Is_thread_main(&flag));
  CHECK_INT(1, flag);
  MPI_Initialized(&flag);
  CHECK_INT(1, flag);
  MPI_Finalized(&flag);
  CHECK_INT(0, flag);

  OK(MPI_Get_processor_name(name, &length));
  CHECK_INT((int)strlen(name), length);
  CHECK(length > 0);
  before = MPI_Wtime();
  after = MPI_Wtime();
  CHECK(after >= before);
  CHECK(before >= began && before - began < 60); /* MPI_Init does not change when it counts from */
  CHECK(MPI_Wtick() > 0 && MPI_Wtick() < 1);
  OK(MPI_Pcontrol(0));
  OK(MPI_Get_hw_resource_info(&hardware));
  CHECK(hardware != MPI_INFO_NULL);
  OK(MPI_Info_free(&hardware));
  check_memory();
  check_fortran();

  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL));
  OK(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &values[0]));
  int second;
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &second, NULL));
  OK(MPI_Comm_set_attr(MPI_COMM_SELF, second, &values[1]));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();

  before = after;
  after = MPI_Wtime();
  if (!(after >= before && after - before < 60)) {
    fprintf(stderr, "rank %d: MPI_Wtime went from %g to %g in MPI_Finalize\n", world_rank, before, after);
    return 3;
  }
  MPI_Finalized(&flag);
  if (!flag || deletions != 2 || deleted[0] != 2 || deleted[1] != 1) {
    fprintf(stderr, "rank %d: attributes of MPI_COMM_SELF were not deleted as they should\n", world_rank);
    return 3;
  }
  MPI_Initialized(&flag);
  if (!flag) return 3;
  if (world_rank == 0) printf("ok\n");
  return 0;
}
