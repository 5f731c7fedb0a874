/* unasked: announced messages whose first pieces come unasked, to receives that were posted before, that come when the pieces have been
   thrown away, that want less, or something else first. The sender's buffer is written over as soon as it may be. */
#include "check.h"

enum { ROUNDS = 12, SIZES = 4, TAGS = 3 };
static const int sizes[SIZES] = {70 * 1000, 256 << 10, 700 * 1000, 5 << 20};

static void word(int from) {
  int w = 0;
  if (world_rank == from) OK(MPI_Send(&w, 1, MPI_INT, 1 - from, 99, MPI_COMM_WORLD));
  else OK(MPI_Recv(&w, 1, MPI_INT, from, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void send_and_spoil(unsigned char* buffer, int bytes, int seed, int synchronous, int tag, int says) {
  MPI_Request request;
  fill(buffer, (size_t)bytes, (unsigned)seed);
  if (synchronous) OK(MPI_Issend(buffer, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &request));
  else OK(MPI_Isend(buffer, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &request));
  if (says) word(0);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  memset(buffer, 0xee, (size_t)bytes);
}

static void posted(unsigned char* buffer, int bytes, int round) {
  if (world_rank == 0) {
    word(1);
    return send_and_spoil(buffer, bytes, round, round % 2, 1, 0);
  }
  MPI_Request request;
  OK(MPI_Irecv(buffer, bytes, MPI_BYTE, round % 3 ? 0 : MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request));
  word(1);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(holds(buffer, (size_t)bytes, (unsigned)round));
}

static void late(unsigned char* buffer, int bytes, int round) {
  if (world_rank == 0) return send_and_spoil(buffer, bytes, round, round % 2, 2, 1);
  word(0);
  OK(MPI_Recv(buffer, bytes, MPI_BYTE, round % 3 ? 0 : MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(holds(buffer, (size_t)bytes, (unsigned)round));
}

static void truncated(unsigned char* buffer, int bytes, int round) {
  if (world_rank == 0) {
    word(1);
    return send_and_spoil(buffer, bytes, round, 0, 3, 0);
  }
  const int less = bytes - 1 - round * 5000;
  MPI_Request request;
  buffer[less] = 0x11;
  OK(MPI_Irecv(buffer, less, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &request));
  word(1);
  FAILS(MPI_ERR_TRUNCATE, MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(holds(buffer, (size_t)less, (unsigned)round));
  CHECK_INT(0x11, buffer[less]);
}

static void in_pieces(unsigned char* buffer, int bytes, int round) {
  const int count = bytes / 48;
  if (world_rank == 0) {
    word(1);
    return send_and_spoil(buffer, count * 24, round, 0, 4, 0);
  }
  MPI_Datatype type;
  MPI_Request request;
  OK(MPI_Type_vector(count, 24, 48, MPI_BYTE, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Irecv(buffer, 1, type, 0, 4, MPI_COMM_WORLD, &request));
  word(1);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < count * 24; ++i) CHECK(buffer[i / 24 * 48 + i % 24] == pattern((unsigned)round, (size_t)i));
  OK(MPI_Type_free(&type));
}

static void last_first(unsigned char* buffer, int bytes, int round) {
  MPI_Request requests[TAGS];
  const int part = bytes / TAGS > 66 * 1000 ? bytes / TAGS : 66 * 1000;
  if (world_rank == 0) {
    for (int t = 0; t < TAGS; ++t) {
      fill(buffer + t * part, (size_t)part, (unsigned)(round + t));
      OK(MPI_Isend(buffer + t * part, part, MPI_BYTE, 1, 10 + t, MPI_COMM_WORLD, &requests[t]));
    }
    OK(MPI_Waitall(TAGS, requests, MPI_STATUSES_IGNORE));
    memset(buffer, 0xee, (size_t)part * TAGS);
    return;
  }
  for (int t = TAGS - 1; t >= 0; --t) {
    OK(MPI_Recv(buffer, part, MPI_BYTE, 0, 10 + t, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(holds(buffer, (size_t)part, (unsigned)(round + t)));
  }
}

static void both_ways(unsigned char* out, unsigned char* in, int bytes, int round) {
  fill(out, (size_t)bytes, (unsigned)(round + world_rank));
  OK(MPI_Sendrecv(out, bytes, MPI_BYTE, 1 - world_rank, 20, in, bytes, MPI_BYTE, 1 - world_rank, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  memset(out, 0xee, (size_t)bytes);
  CHECK(holds(in, (size_t)bytes, (unsigned)(round + 1 - world_rank)));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  CHECK_INT(2, world_size);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  unsigned char *buffer = malloc(6 << 20), *other = malloc(6 << 20);
  for (int s = 0; s < SIZES; ++s) {
    for (int round = 0; round < ROUNDS; ++round) {
      posted(buffer, sizes[s], round);
      late(buffer, sizes[s], round);
      truncated(buffer, sizes[s], round);
      in_pieces(buffer, sizes[s], round);
      last_first(buffer, sizes[s], round);
      both_ways(buffer, other, sizes[s], round);
    }
  }
  free(buffer);
  free(other);
  return end();
}
