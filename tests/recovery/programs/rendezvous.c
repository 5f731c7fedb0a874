/* rendezvous: large messages between all pairs of ranks in every way that they can meet their receives: posted before and
   after, from any source, matched by a probe, synchronous, packed from and into pieces, more at once than the eager credit
   allows, into memory so new that the receiver is slower than the sender. Rank 0 prints a digest of what each received. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { BYTES = 700 * 1000, LONG = 1000 * 1000, MEDIUM = 60 * 1000, MEDIUM_COUNT = 6 };

static int rank, size;
static uint64_t state = 1;

static void mix(uint64_t value) { state = (state ^ value) * UINT64_C(0x9e3779b97f4a7c15) + (state >> 31); }

static unsigned char* filled(int bytes, int seed) {
  unsigned char* buffer = malloc((size_t)bytes);
  for (int i = 0; i < bytes; ++i) buffer[i] = (unsigned char)(i * 7 + seed * 31 + (i >> 9));
  return buffer;
}

static void digest(const unsigned char* buffer, int bytes) {
  for (int i = 0; i < bytes; i += 97) mix(buffer[i]);
  mix(buffer[bytes - 1]);
}

static void exchange_posted(int to, int from) {
  unsigned char *out = filled(BYTES, rank), *in = malloc(BYTES);
  MPI_Request request;
  MPI_Irecv(in, BYTES, MPI_BYTE, from, 1, MPI_COMM_WORLD, &request);
  MPI_Barrier(MPI_COMM_WORLD); /* every receive is posted */
  MPI_Send(out, BYTES, MPI_BYTE, to, 1, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  digest(in, BYTES);
  free(out);
  free(in);
}

static void exchange_unexpected(int to, int from) {
  unsigned char *out = filled(BYTES, rank + 100), *in = malloc(BYTES);
  MPI_Request requests[2];
  MPI_Isend(out, BYTES, MPI_BYTE, to, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Issend(out, BYTES / 2, MPI_BYTE, to, 3, MPI_COMM_WORLD, &requests[1]);
  MPI_Barrier(MPI_COMM_WORLD); /* every envelope is on its way */
  MPI_Recv(in, BYTES, MPI_BYTE, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  digest(in, BYTES / 2);
  MPI_Recv(in, BYTES, MPI_BYTE, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  digest(in, BYTES);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  free(out);
  free(in);
}

/* Sums over senders, since their order differs from run to run. */
static void any_source(void) {
  unsigned char *out = filled(BYTES, rank + 200), *in = malloc(BYTES);
  MPI_Request* requests = malloc(sizeof(MPI_Request) * (size_t)size);
  for (int to = 0; to < size; ++to) MPI_Isend(out, BYTES - to, MPI_BYTE, to, 4, MPI_COMM_WORLD, &requests[to]);
  uint64_t sum = 0;
  for (int i = 0; i < size; ++i) {
    const uint64_t before = state;
    MPI_Message message;
    MPI_Status status;
    state = 1;
    if (i % 2 == 0) {
      MPI_Recv(in, BYTES, MPI_BYTE, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &status);
    } else {
      MPI_Mprobe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &message, &status);
      MPI_Mrecv(in, BYTES, MPI_BYTE, &message, &status);
    }
    digest(in, BYTES - rank);
    sum += state * (uint64_t)(status.MPI_SOURCE + 1);
    state = before;
  }
  mix(sum);
  MPI_Waitall(size, requests, MPI_STATUSES_IGNORE);
  free(requests);
  free(out);
  free(in);
}

/* Every second of 24-byte pieces, on both sides. */
static void pieces(int to, int from) {
  unsigned char *out = filled(BYTES, rank + 300), *in = filled(BYTES, 0);
  MPI_Datatype type;
  MPI_Type_vector(BYTES / 48, 24, 48, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_Sendrecv(out, 1, type, to, 5, in, 1, type, from, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  digest(in, BYTES);
  MPI_Type_free(&type);
  free(out);
  free(in);
}

/* Messages that are short enough for eager, more than the receiver holds: the later ones become rendezvous. */
static void past_the_credit(int to, int from) {
  unsigned char *out = filled(MEDIUM, rank + 400), *in = malloc(MEDIUM);
  MPI_Request requests[MEDIUM_COUNT];
  for (int i = 0; i < MEDIUM_COUNT; ++i) {
    MPI_Isend(out, MEDIUM - i, MPI_BYTE, to, 10 + i, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = MEDIUM_COUNT - 1; i >= 0; --i) {
    MPI_Recv(in, MEDIUM, MPI_BYTE, from, 10 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    digest(in, MEDIUM - i);
  }
  MPI_Waitall(MEDIUM_COUNT, requests, MPI_STATUSES_IGNORE);
  free(out);
  free(in);
}

/* One after the other, so that the sender has nothing else to do. */
static void into_new_memory(int to, int from) {
  for (int sender = 0; sender < size; ++sender) {
    if (rank == sender) {
      unsigned char* out = filled(LONG, rank + 500);
      MPI_Send(out, LONG, MPI_BYTE, to, 6, MPI_COMM_WORLD);
      free(out);
    }
    if (from == sender) {
      unsigned char* in = mmap(NULL, LONG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (in == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
      MPI_Recv(in, LONG, MPI_BYTE, from, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      digest(in, LONG);
      munmap(in, LONG);
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  exchange_posted(to, from);
  exchange_unexpected(to, from);
  any_source();
  pieces(to, from);
  past_the_credit(to, from);
  for (int i = 0; i < 3; ++i) into_new_memory(to, from);
  uint64_t* all = malloc(sizeof(uint64_t) * (size_t)size);
  MPI_Gather(&state, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < size; ++i) printf("rank %d: %016llx\n", i, (unsigned long long)all[i]);
  free(all);
  MPI_Finalize();
  return 0;
}
