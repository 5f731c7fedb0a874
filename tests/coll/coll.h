/* For the tests of collectives: buffers with known contents, types with gaps, communicators of several shapes, and one
 * way to run the blocking, non-blocking and persistent form. */
#ifndef HOLDFAST_TESTS_COLL_H
#define HOLDFAST_TESTS_COLL_H
#include "../mpi/check.h"

#define N_SIZES 7
static const int sizes[N_SIZES] = {0, 1, 7, 100, 1031, 9001, 40009}; /* elements of 4 bytes: both sides of each threshold */

/* Element i of the block that `from` has for `to`. */
static int value(int from, int to, int i) { return (from * 131 + to * 17 + i * 7) % 1000003; }

/* `n` elements at `stride` ints; what lies between them is -1 and must stay so. */
static int* blank(int n, int stride) {
  int* p = malloc(sizeof(int) * ((size_t)n * stride + 1));
  for (size_t i = 0; i < (size_t)n * stride + 1; ++i) p[i] = -1;
  return p;
}
static void put(int* p, int n, int stride, int from, int to) {
  for (int i = 0; i < n; ++i) p[(size_t)i * stride] = value(from, to, i);
}
static void check_block(const int* p, int n, int stride, int from, int to, int line) {
  for (int i = 0; i < n; ++i) {
    if (p[(size_t)i * stride] != value(from, to, i)) {
      fprintf(stderr, "rank %d: line %d: element %d of %d from %d to %d is %d, not %d\n", world_rank, line, i, n, from, to,
              p[(size_t)i * stride], value(from, to, i));
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
    for (int j = 1; j < stride; ++j) {
      if (p[(size_t)i * stride + j] != -1) {
        fprintf(stderr, "rank %d: line %d: a gap after element %d was written\n", world_rank, line, i);
        MPI_Abort(MPI_COMM_WORLD, 3);
      }
    }
  }
}
#define CHECK_BLOCK(p, n, stride, from, to) check_block(p, n, stride, from, to, __LINE__)

/* One int and a gap: extent 3 ints. */
static MPI_Datatype gapped(void) {
  MPI_Datatype type;
  OK(MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &type));
  OK(MPI_Type_commit(&type));
  return type;
}
/* As MPI_INT or with gaps; `stride` is its extent in ints. */
static MPI_Datatype layout(int with_gaps, int* stride) {
  static MPI_Datatype type = MPI_DATATYPE_NULL;
  if (type == MPI_DATATYPE_NULL) type = gapped();
  *stride = with_gaps ? 3 : 1;
  return with_gaps ? type : MPI_INT;
}

static int form; /* how the next collective is called */

/* Runs MPI_<Name>(...), or MPI_I<name>(..., &request) and its completion, or a persistent request of it, by turns. */
#define BY_TURNS(call, nonblocking, persistent, ...)            \
  do {                                                          \
    MPI_Request request_;                                       \
    switch (form++ % 3) {                                       \
      case 0: OK(call(__VA_ARGS__)); break;                     \
      case 1:                                                   \
        OK(nonblocking(__VA_ARGS__, &request_));                \
        OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));             \
        CHECK(request_ == MPI_REQUEST_NULL);                    \
        break;                                                  \
      case 2:                                                   \
        OK(persistent(__VA_ARGS__, MPI_INFO_NULL, &request_));  \
        OK(MPI_Start(&request_));                               \
        OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));             \
        CHECK(request_ != MPI_REQUEST_NULL);                    \
        OK(MPI_Request_free(&request_));                        \
        break;                                                  \
    }                                                           \
  } while (0)
#define COLLECTIVE(Name, iname, ...) BY_TURNS(MPI_##Name, MPI_##iname, MPI_##Name##_init, __VA_ARGS__)
/* The large-count forms. */
#define COLLECTIVE_C(Name, iname, ...) BY_TURNS(MPI_##Name##_c, MPI_##iname##_c, MPI_##Name##_init_c, __VA_ARGS__)

/* The world, the world in reverse order, halves, and a communicator of one. */
static void on_communicators(void (*test)(MPI_Comm comm)) {
  static int first_form; /* the same on all ranks, which may have made different numbers of calls on smaller ones */
  MPI_Comm comm;
  form = first_form++;
  test(MPI_COMM_WORLD);
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, world_size - world_rank, &comm));
  form = first_form++;
  test(comm);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Comm_split(MPI_COMM_WORLD, world_rank >= (world_size + 1) / 2, 0, &comm));
  test(comm);
  OK(MPI_Comm_free(&comm));
  test(MPI_COMM_SELF);
}

static inline void silence_unused_coll(void) {
  (void)blank, (void)put, (void)check_block, (void)layout, (void)on_communicators, (void)form;
}
#endif
