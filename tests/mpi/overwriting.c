/* overwriting: a buffer is changed as soon as MPI allows it, while receivers come early, late or very late. What a receiver gets is
   what the buffer held when it was sent, and what it then puts there itself stays. Large messages of rank 0 to all others, blocking and not, contiguous and in pieces.

     overwriting [TIMES]  as many rounds (default 1) */
#include "check.h"

#include <string.h>
#include <time.h>

enum { ROUNDS = 60, LARGEST = 1500 * 1000, AT_ONCE = 3, CROWD = 24 };

static unsigned random_state = 12345; /* the same on all ranks */

static unsigned draw(unsigned below) {
  random_state = random_state * 1664525u + 1013904223u;
  return (random_state >> 8) % below;
}

static void paint(unsigned char* buffer, int bytes, int seed) {
  for (int i = 0; i < bytes; ++i) buffer[i] = (unsigned char)(i * 13 + seed * 57 + (i >> 11));
}

static int is_painted(const unsigned char* buffer, int bytes, int seed) {
  for (int i = 0; i < bytes; ++i) {
    if (buffer[i] != (unsigned char)(i * 13 + seed * 57 + (i >> 11))) return 0;
  }
  return 1;
}

static void dawdle(unsigned microseconds) {
  struct timespec pause = {0, (long)microseconds * 1000};
  if (microseconds > 0) nanosleep(&pause, NULL);
}

/* A receiver's own bytes, where a message has been. */
static void take_back(unsigned char* buffer, int bytes) { memset(buffer, 0x55, (size_t)bytes); }

static int is_taken_back(const unsigned char* buffer, int bytes) {
  return buffer[0] == 0x55 && memcmp(buffer, buffer + 1, (size_t)bytes - 1) == 0;
}

static void blocking(int rank, int size, unsigned char* buffer, int bytes, int round, unsigned pause) {
  if (rank == 0) {
    for (int to = 1; to < size; ++to) {
      paint(buffer, bytes, round + to);
      MPI_Send(buffer, bytes, MPI_BYTE, to, 1, MPI_COMM_WORLD);
      memset(buffer, 0xee, (size_t)bytes);
    }
    return;
  }
  dawdle(pause);
  MPI_Recv(buffer, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(is_painted(buffer, bytes, round + rank));
  take_back(buffer, bytes);
  dawdle(pause / 4);
  CHECK(is_taken_back(buffer, bytes));
}

/* The buffers may be changed one by one, as their requests complete. */
static void nonblocking(int rank, int size, unsigned char* buffers[AT_ONCE], int bytes, int round, unsigned pause) {
  MPI_Request requests[AT_ONCE];
  for (int other = 1; other < size; ++other) {
    if (rank != 0 && rank != other) continue;
    if (rank != 0) dawdle(pause);
    for (int i = 0; i < AT_ONCE; ++i) {
      if (rank == 0) {
        paint(buffers[i], bytes, round + i);
        MPI_Isend(buffers[i], bytes, MPI_BYTE, other, 2, MPI_COMM_WORLD, &requests[i]);
      } else {
        MPI_Irecv(buffers[i], bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &requests[i]);
      }
    }
    for (int i = 0; i < AT_ONCE; ++i) {
      MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      if (rank == 0) memset(buffers[i], 0xdd, (size_t)bytes);
      else CHECK(is_painted(buffers[i], bytes, round + i));
      if (rank != 0) take_back(buffers[i], bytes);
    }
    for (int i = 0; i < AT_ONCE && rank != 0; ++i) CHECK(is_taken_back(buffers[i], bytes));
  }
}

/* Many of 17 KB to 65 KB on the way at once: their announcements wait one behind the other. */
static void crowd(int rank, int size, unsigned char* buffer, int round, unsigned pause) {
  const int bytes = 17000 + (int)draw(48 * 1000);
  MPI_Request requests[CROWD];
  for (int other = 1; other < size; ++other) {
    if (rank != 0 && rank != other) continue;
    if (rank != 0) dawdle(pause);
    for (int i = 0; i < CROWD; ++i) {
      unsigned char* mine = buffer + (size_t)i * bytes;
      if (rank == 0) {
        paint(mine, bytes, round + i);
        MPI_Isend(mine, bytes, MPI_BYTE, other, 4, MPI_COMM_WORLD, &requests[i]);
      } else {
        MPI_Irecv(mine, bytes, MPI_BYTE, 0, 4, MPI_COMM_WORLD, &requests[i]);
      }
    }
    for (int i = 0; i < CROWD; ++i) {
      MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      unsigned char* mine = buffer + (size_t)i * bytes;
      if (rank == 0) memset(mine, 0xbb, (size_t)bytes);
      else CHECK(is_painted(mine, bytes, round + i));
    }
  }
}

static void into_pieces(int rank, int size, unsigned char* buffer, int bytes, int round, unsigned pause) {
  MPI_Datatype every_other;
  bytes = bytes / 2 / 64 * 64;
  MPI_Type_vector(bytes / 64, 64, 128, MPI_BYTE, &every_other);
  MPI_Type_commit(&every_other);
  if (rank == 0) {
    for (int to = 1; to < size; ++to) {
      paint(buffer, bytes, round);
      MPI_Ssend(buffer, bytes, MPI_BYTE, to, 3, MPI_COMM_WORLD);
      memset(buffer, 0xcc, (size_t)bytes);
    }
  } else {
    dawdle(pause);
    MPI_Recv(buffer, 1, every_other, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < bytes / 64; ++i) memmove(buffer + i * 64, buffer + i * 128, 64);
    CHECK(is_painted(buffer, bytes, round));
  }
  MPI_Type_free(&every_other);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int rank = world_rank, size = world_size;
  unsigned char* buffers[AT_ONCE];
  for (int i = 0; i < AT_ONCE; ++i) buffers[i] = malloc(2 * LARGEST);
  const int rounds = ROUNDS * (argc > 1 ? atoi(argv[1]) : 1);
  for (int round = 0; round < rounds; ++round) {
    int bytes = 17000 + (int)draw(draw(3) ? 100 * 1000 : LARGEST - 17000);
    unsigned pause = draw(2) ? 0 : draw(400);
    blocking(rank, size, buffers[0], bytes, round, pause);
    nonblocking(rank, size, buffers, bytes, round, pause);
    crowd(rank, size, buffers[0], round, pause);
    if (round % 4 == 0) into_pieces(rank, size, buffers[0], bytes, round, pause);
  }
  for (int i = 0; i < AT_ONCE; ++i) free(buffers[i]);
  return end();
}
