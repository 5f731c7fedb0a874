/* Blocking send and receive: all modes, sizes from empty over eager to rendezvous, contiguous and strided buffers,
 * named and any source and tag, MPI_PROC_NULL, order between the same two processes. */
#include "check.h"

static const int sizes[] = {0, 1, 7, 64, 1000, 4096, 65536, 70001, 1 << 20};
enum { size_count = sizeof sizes / sizeof *sizes };

typedef int (*SendFunction)(const void*, int, MPI_Datatype, int, int, MPI_Comm);

static void exchange(SendFunction send, int bytes, int tag, int any) {
  unsigned char* out = malloc((size_t)bytes + 1);
  unsigned char* in = malloc((size_t)bytes + 1);
  MPI_Status status;
  int count = -1, source = any ? MPI_ANY_SOURCE : previous_rank(), wanted = any ? MPI_ANY_TAG : tag;
  fill(out, (size_t)bytes, (unsigned)(world_rank * 1000 + tag));
  in[bytes] = 0xa5;
  /* Even ranks send first; the last one of an odd number receives first, so that no cycle of blocking sends is closed.
   */
  for (int turn = 0; turn < 2; ++turn) {
    int sends_first = world_rank % 2 == 0 && !(world_rank == world_size - 1);
    if ((turn == 0) == sends_first) {
      OK(send(out, bytes, MPI_BYTE, next_rank(), tag, MPI_COMM_WORLD));
    } else {
      OK(MPI_Recv(in, bytes, MPI_BYTE, source, wanted, MPI_COMM_WORLD, &status));
      CHECK_INT(previous_rank(), status.MPI_SOURCE);
      CHECK_INT(tag, status.MPI_TAG);
      OK(MPI_Get_count(&status, MPI_BYTE, &count));
      CHECK_INT(bytes, count);
      CHECK(holds(in, (size_t)bytes, (unsigned)(previous_rank() * 1000 + tag)));
      CHECK_INT(0xa5, in[bytes]);
    }
  }
  free(out);
  free(in);
}

static int ready_send(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  int token;
  OK(MPI_Recv(&token, 1, MPI_INT, dest, 900, comm, MPI_STATUS_IGNORE)); /* its receive is posted */
  return MPI_Rsend(buffer, count, type, dest, tag, comm);
}

static void check_ready(int bytes) {
  unsigned char* out = malloc((size_t)bytes + 1);
  unsigned char* in = malloc((size_t)bytes + 1);
  MPI_Request request, token_request;
  int token = 1;
  fill(out, (size_t)bytes, (unsigned)world_rank);
  OK(MPI_Irecv(in, bytes, MPI_BYTE, previous_rank(), 3, MPI_COMM_WORLD, &request));
  OK(MPI_Isend(&token, 1, MPI_INT, previous_rank(), 900, MPI_COMM_WORLD, &token_request));
  OK(ready_send(out, bytes, MPI_BYTE, next_rank(), 3, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&token_request, MPI_STATUS_IGNORE));
  CHECK(holds(in, (size_t)bytes, (unsigned)previous_rank()));
  free(out);
  free(in);
}

static void check_strided(int blocks) {
  MPI_Datatype vector;
  MPI_Status status;
  int count, *out = calloc((size_t)blocks * 4 + 4, sizeof *out), *in = calloc((size_t)blocks * 4 + 4, sizeof *in);
  for (int i = 0; i < blocks * 4; ++i) out[i] = world_rank * 1000000 + i;
  for (int i = 0; i < blocks * 4 + 4; ++i) in[i] = -1;
  OK(MPI_Type_vector(blocks, 2, 4, MPI_INT, &vector));
  OK(MPI_Type_commit(&vector));
  OK(MPI_Sendrecv(out, 1, vector, next_rank(), 4, in, 2 * blocks, MPI_INT, previous_rank(), 4, MPI_COMM_WORLD,
                  &status));
  OK(MPI_Get_count(&status, vector, &count));
  CHECK_INT(blocks ? 1 : 0, count);
  for (int i = 0; i < 2 * blocks; ++i) CHECK_INT(previous_rank() * 1000000 + i / 2 * 4 + i % 2, in[i]);
  for (int i = 0; i < blocks * 4 + 4; ++i) in[i] = -1;
  OK(MPI_Sendrecv(out, 2 * blocks, MPI_INT, next_rank(), 4, in, 1, vector, previous_rank(), 4, MPI_COMM_WORLD,
                  &status));
  for (int i = 0; i < blocks * 4; ++i) {
    CHECK_INT(i % 4 < 2 ? previous_rank() * 1000000 + i / 4 * 2 + i % 4 : -1, in[i]);
  }
  OK(MPI_Type_free(&vector));
  free(out);
  free(in);
}

static void check_order(void) {
  enum { messages = 60 };
  static unsigned char buffers[messages][20000];
  MPI_Request requests[messages];
  unsigned char* in = malloc(20000);
  /* Small and large messages alternate: the small must not overtake the large ones before them. */
  for (int i = 0; i < messages; ++i) {
    int bytes = i % 3 == 0 ? 20000 : i;
    fill(buffers[i], (size_t)bytes, (unsigned)(world_rank + i));
    OK(MPI_Isend(buffers[i], bytes, MPI_BYTE, next_rank(), 6, MPI_COMM_WORLD, &requests[i]));
  }
  for (int i = 0; i < messages; ++i) {
    int bytes = i % 3 == 0 ? 20000 : i, count;
    MPI_Status status;
    OK(MPI_Recv(in, 20000, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : previous_rank(), i % 5 ? 6 : MPI_ANY_TAG, MPI_COMM_WORLD,
                &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_INT(bytes, count);
    CHECK(holds(in, (size_t)bytes, (unsigned)(previous_rank() + i)));
  }
  OK(MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE));
  free(in);
}

static void check_tags(void) {
  /* Received in another order than sent. */
  int out[3] = {10, 11, 12}, in[3] = {0, 0, 0};
  MPI_Request requests[3];
  for (int i = 0; i < 3; ++i) OK(MPI_Isend(&out[i], 1, MPI_INT, next_rank(), 20 + i, MPI_COMM_WORLD, &requests[i]));
  for (int i = 2; i >= 0; --i) {
    OK(MPI_Recv(&in[i], 1, MPI_INT, previous_rank(), 20 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_INT(10 + i, in[i]);
  }
  OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  int *tag_ub = NULL, flag = 0;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &flag));
  CHECK_INT(1, flag);
  OK(MPI_Isend(&out[0], 1, MPI_INT, next_rank(), *tag_ub, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Recv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, *tag_ub, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
}

static void check_null(void) {
  MPI_Status status;
  int value = 5, count = -1;
  OK(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  OK(MPI_Ssend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  OK(MPI_Rsend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  OK(MPI_Bsend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  OK(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
  CHECK_INT(5, value);
  CHECK_INT(MPI_PROC_NULL, status.MPI_SOURCE);
  CHECK_INT(MPI_ANY_TAG, status.MPI_TAG);
  OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_INT(0, count);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (world_size > 1) {
    for (int i = 0; i < size_count; ++i) {
      for (int any = 0; any < 2; ++any) {
        exchange(MPI_Send, sizes[i], 1, any);
        exchange(MPI_Ssend, sizes[i], 2, any);
        MPI_Barrier(MPI_COMM_WORLD);
      }
    }
  }
  for (int i = 0; i < size_count; ++i) check_ready(sizes[i]);
  check_strided(0);
  check_strided(1);
  check_strided(100);
  check_strided(50000);
  MPI_Barrier(MPI_COMM_WORLD);
  check_order();
  MPI_Barrier(MPI_COMM_WORLD);
  check_tags();
  check_null();
  return end();
}
