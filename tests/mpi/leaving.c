/* The program's functions that MPI calls: they leave by longjmp, from the same depth and from others, and call MPI themselves (docs/recovery.md). */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>

enum { TIMES = 20000 };

static jmp_buf back;
static int rank, others;

static void jump(MPI_Comm* comm, int* code, ...) {
  int size;
  if (MPI_Comm_size(*comm, &size) == MPI_SUCCESS && size > 0 && *code != MPI_SUCCESS) longjmp(back, 1);
}

static void send_wrongly(int depth) {
  volatile char local[300];
  local[0] = (char)depth;
  if (depth > 0) send_wrongly(depth - 1);
  else MPI_Send(&rank, 1, MPI_INT, 999, 0, MPI_COMM_WORLD);
  others += local[0];
}

/* Calls MPI, with more arguments than registers carry, inside MPI. */
static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  int out = 7, back_again = 0, bytes = 0;
  MPI_Sendrecv(&out, 1, MPI_INT, 0, 5, &back_again, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Type_size(*type, &bytes);
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i] + (back_again == 7 && bytes == sizeof(int) ? 0 : 1000);
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  MPI_Op op;
  volatile int jumps = 0, wrong = 0;
  int size, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Op_create(add, 1, &op);
  MPI_Comm_create_errhandler(jump, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  for (volatile int i = 0; i < TIMES; ++i) {
    if (setjmp(back) == 0) send_wrongly(i % 10);
    else ++jumps;
    if (i % 1000 == 0) {
      MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
      wrong += sum != size * (size - 1) / 2;
    }
  }
  MPI_Op_free(&op);
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  return jumps == TIMES && wrong == 0 ? 0 : 1;
}
