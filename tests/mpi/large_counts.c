/* Counts beyond 2^31 outside of collectives (MPI 5.0, 2.5.8): messages, statuses, types, packing and buffers. Memory is reserved
 * and hardly touched; elements are far apart or have no data. */
#define _DEFAULT_SOURCE
#include <sys/mman.h>

#include "check.h"

#define FAR ((MPI_Count)1 << 32)
#define MANY (((MPI_Count)1 << 33) + 5)

static char* reserve(MPI_Count bytes) {
  char* p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(p != MAP_FAILED);
  return p;
}
static int* at(char* base, int i) { return (int*)(base + i * FAR); }

static char *out, *in;
static MPI_Datatype spread, nothing;

static void fill_out(int seed) {
  for (int i = 0; i < 3; ++i) *at(out, i) = seed * 10 + i, *at(in, i) = -1;
}
static void check_in(int seed) {
  for (int i = 0; i < 3; ++i) CHECK_INT(seed * 10 + i, *at(in, i));
}

static void messages(void) {
  MPI_Status status;
  MPI_Request requests[2];
  MPI_Count count, position = 0;
  const int self = world_rank;
  fill_out(1);
  OK(MPI_Sendrecv_c(out, 3, spread, next_rank(), 1, in, 3, spread, previous_rank(), 1, MPI_COMM_WORLD, &status));
  check_in(1);
  OK(MPI_Get_count_c(&status, spread, &count));
  CHECK_INT(3, count);
  fill_out(2);
  OK(MPI_Irecv_c(in, 3, spread, previous_rank(), 2, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Isend_c(out, 3, spread, next_rank(), 2, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  check_in(2);
  fill_out(3);
  OK(MPI_Recv_init_c(in, 3, spread, self, 3, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Send_init_c(out, 3, spread, self, 3, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Startall(2, requests));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  check_in(3);
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&requests[i]));
  /* no data in all these elements */
  OK(MPI_Sendrecv_c(out, MANY, nothing, next_rank(), 4, in, MANY, nothing, previous_rank(), 4, MPI_COMM_WORLD, &status));
  OK(MPI_Get_count_c(&status, MPI_INT, &count));
  CHECK_INT(0, count);
  /* into a place far behind in a packing buffer, and from it */
  char* packed = reserve(2 * FAR);
  fill_out(4);
  position = FAR + 3;
  OK(MPI_Pack_c(out, 3, spread, packed, 2 * FAR, &position, MPI_COMM_WORLD));
  CHECK_INT(FAR + 3 + 12, position);
  position = FAR + 3;
  OK(MPI_Unpack_c(packed, 2 * FAR, &position, in, 3, spread, MPI_COMM_WORLD));
  check_in(4);
  munmap(packed, 2 * FAR);
}

static void statuses(void) {
  MPI_Status status;
  MPI_Count count;
  int small;
  memset(&status, 0, sizeof status);
  OK(MPI_Status_set_elements_c(&status, MPI_INT, MANY));
  OK(MPI_Get_elements_c(&status, MPI_INT, &count));
  CHECK_INT(MANY, count);
  OK(MPI_Get_count_c(&status, MPI_INT, &count));
  CHECK_INT(MANY, count);
  OK(MPI_Get_count(&status, MPI_INT, &small)); /* what the argument cannot hold is MPI_UNDEFINED (3.2.5) */
  CHECK_INT(MPI_UNDEFINED, small);
  OK(MPI_Get_elements(&status, MPI_INT, &small));
  CHECK_INT(MPI_UNDEFINED, small);
}

static void types(void) {
  MPI_Datatype type, vector;
  MPI_Count size, lb, extent;
  MPI_Aint small_lb, small_extent;
  int small, position = 0;
  OK(MPI_Type_contiguous_c(MANY, MPI_INT, &type));
  OK(MPI_Type_size_c(type, &size));
  CHECK_INT(4 * MANY, size);
  OK(MPI_Type_size(type, &small));
  CHECK_INT(MPI_UNDEFINED, small);
  OK(MPI_Type_get_extent_c(type, &lb, &extent));
  CHECK_INT(4 * MANY, extent);
  OK(MPI_Type_get_extent(type, &small_lb, &small_extent));
  CHECK_INT(4 * MANY, small_extent);
  OK(MPI_Type_free(&type));
  OK(MPI_Pack_size_c(MANY, MPI_INT, MPI_COMM_WORLD, &size));
  CHECK(size >= 4 * MANY);
  OK(MPI_Pack_external_size_c("external32", MANY, MPI_INT, &size));
  CHECK_INT(4 * MANY, size);
  /* three ints FAR apart, made in other ways */
  const MPI_Count lengths[3] = {1, 1, 1}, places[3] = {0, FAR, 2 * FAR}, indices[3] = {0, FAR / 4, FAR / 2};
  const MPI_Datatype ints[3] = {MPI_INT, MPI_INT, MPI_INT};
  const MPI_Count sizes[2] = {3, FAR / 4}, subsizes[2] = {3, 1}, starts[2] = {0, 0};
  for (int way = 0; way < 7; ++way) {
    switch (way) {
      case 0: OK(MPI_Type_vector_c(3, 1, FAR / 4, MPI_INT, &vector)); break;
      case 1: OK(MPI_Type_create_hvector_c(3, 1, FAR, MPI_INT, &vector)); break;
      case 2: OK(MPI_Type_indexed_c(3, lengths, indices, MPI_INT, &vector)); break;
      case 3: OK(MPI_Type_create_hindexed_c(3, lengths, places, MPI_INT, &vector)); break;
      case 4: OK(MPI_Type_create_hindexed_block_c(3, 1, places, MPI_INT, &vector)); break;
      case 5: OK(MPI_Type_create_struct_c(3, lengths, places, ints, &vector)); break;
      case 6: OK(MPI_Type_create_subarray_c(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &vector)); break;
    }
    OK(MPI_Type_commit(&vector));
    fill_out(20 + way);
    OK(MPI_Sendrecv(out, 1, vector, next_rank(), way, in, 1, vector, previous_rank(), way, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    check_in(20 + way);
    char few[64];
    OK(MPI_Pack(out, 1, vector, few, 64, &position, MPI_COMM_WORLD)); /* little data, whatever the extent */
    CHECK_INT(12, position);
    position = 0;
    OK(MPI_Type_free(&vector));
  }
}

static void buffers(void) {
  void* back = NULL;
  MPI_Count size = 0;
  char* buffer = reserve(FAR);
  OK(MPI_Buffer_attach_c(buffer, FAR));
  fill_out(5);
  OK(MPI_Bsend_c(out, 3, spread, next_rank(), 9, MPI_COMM_WORLD));
  OK(MPI_Recv_c(in, 3, spread, previous_rank(), 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  check_in(5);
  OK(MPI_Buffer_detach_c(&back, &size));
  CHECK(back == buffer);
  CHECK_INT(FAR, size);
  munmap(buffer, FAR);
}

/* MPI 5.0, 5.1.13: the forms without large counts do not tell of them. */
static void small_forms(void) {
  MPI_Datatype vector, of;
  MPI_Aint addresses[1];
  int integers[3], many = 0, displacements = 0, types = 0, combiner = 0;
  MPI_Count large[3], n[4];
  OK(MPI_Type_vector_c(3, 2, 4, MPI_INT, &vector));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  FAILS(MPI_ERR_TYPE, MPI_Type_get_envelope(vector, &many, &displacements, &types, &combiner));
  FAILS(MPI_ERR_TYPE, MPI_Type_get_contents(vector, 3, 1, 1, integers, addresses, &of));
  OK(MPI_Type_get_envelope_c(vector, &n[0], &n[1], &n[2], &n[3], &combiner));
  CHECK(n[0] == 0 && n[1] == 0 && n[2] == 3 && n[3] == 1 && combiner == MPI_COMBINER_VECTOR);
  OK(MPI_Type_get_contents_c(vector, 3, 1, 3, 1, integers, addresses, large, &of));
  CHECK(large[0] == 3 && large[1] == 2 && large[2] == 4 && of == MPI_INT);
  OK(MPI_Type_free(&vector));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  out = reserve(4 * FAR);
  in = reserve(4 * FAR);
  MPI_Datatype empty;
  OK(MPI_Type_create_resized_c(MPI_INT, 0, FAR, &spread));
  OK(MPI_Type_commit(&spread));
  OK(MPI_Type_contiguous(0, MPI_INT, &empty));
  OK(MPI_Type_create_resized(empty, 0, 4, &nothing));
  OK(MPI_Type_commit(&nothing));
  OK(MPI_Type_free(&empty));
  messages();
  statuses();
  types();
  buffers();
  small_forms();
  OK(MPI_Type_free(&spread));
  OK(MPI_Type_free(&nothing));
  return end();
}
