/* sessions [POINT RANK MARKER]: three times a first session and a last one; in the second round MPI_Init to MPI_Finalize lies within. Between the rounds
   the process is in no job. What is printed depends on what everyone received. RANK kills itself at POINT, once: MARKER is made then. */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "program_parts.h"

enum { WORDS = 300 };

static uint64_t state;
static int rank, size, point, kill_at = -1, kill_rank;
static const char* marker;

/* Numbered as they are passed. The others go on meanwhile: they have joined before the first one, or they wait. */
static void pass_point(void) {
  const char* own = getenv("HOLDFAST_RANK");
  if (point++ != kill_at || !own || atoi(own) != kill_rank || is_there(marker)) return;
  syscall(SYS_openat, AT_FDCWD, marker, O_CREAT | O_WRONLY, 0600);
  nanosleep(&(struct timespec){0, 200000000}, NULL);
  kill(getpid(), SIGKILL);
}

static void mix(uint64_t value) { state = digest_of(state, value); }

static MPI_Group everybody(MPI_Session session) {
  MPI_Group group;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Group_rank(group, &rank);
  MPI_Group_size(group, &size);
  return group;
}

/* Around the ring and back, tested and waited for in any order; from any source to rank 0, buffered; all together. */
static void talk(MPI_Comm comm) {
  uint64_t out[WORDS], in[2][WORDS], sum = 0;
  MPI_Request requests[4];
  int me, others, done = 0, which;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &others);
  for (int i = 0; i < WORDS; ++i) out[i] = state + (uint64_t)i;
  MPI_Irecv(in[0], WORDS, MPI_UINT64_T, (me + 1) % others, 1, comm, &requests[0]);
  MPI_Irecv(in[1], WORDS, MPI_UINT64_T, (me + others - 1) % others, 2, comm, &requests[1]);
  MPI_Isend(out, WORDS, MPI_UINT64_T, (me + others - 1) % others, 1, comm, &requests[2]);
  MPI_Isend(out, WORDS, MPI_UINT64_T, (me + 1) % others, 2, comm, &requests[3]);
  MPI_Testall(4, requests, &done, MPI_STATUSES_IGNORE);
  for (int i = 0; !done && i < 4; ++i) MPI_Waitany(4, requests, &which, MPI_STATUS_IGNORE);
  for (int i = 0; i < WORDS; ++i) mix(in[0][i] ^ in[1][i]);
  if (me > 0) {
    MPI_Bsend(out, 5, MPI_UINT64_T, 0, 3, comm);
  } else {
    uint64_t of[16] = {0};
    for (int i = 1; i < others; ++i) {
      MPI_Status status;
      MPI_Recv(in[0], WORDS, MPI_UINT64_T, MPI_ANY_SOURCE, 3, comm, &status);
      of[status.MPI_SOURCE % 16] += in[0][0];
    }
    for (int i = 0; i < 16; ++i) mix(of[i]);
  }
  MPI_Allreduce(&state, &sum, 1, MPI_UINT64_T, MPI_SUM, comm);
  mix(sum);
}

/* Neighbours, by one string, rank 0 with both of its own at a time; then the even and the odd ones. */
static void groups(MPI_Group all, int round) {
  for (int first = 0; first + 1 < size; ++first) {
    MPI_Group pair;
    MPI_Comm comm;
    if (rank != first && rank != first + 1) continue;
    MPI_Group_incl(all, 2, (int[]){first, first + 1}, &pair);
    MPI_Comm_create_from_group(pair, "pair", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    talk(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&pair);
  }
  if (size < 2) return;
  MPI_Group halves[2];
  MPI_Comm inter, merged;
  MPI_Group_range_incl(all, 1, (int[][3]){{0, size - 1, 2}}, &halves[0]);
  MPI_Group_range_incl(all, 1, (int[][3]){{1, size - 1, 2}}, &halves[1]);
  MPI_Intercomm_create_from_groups(halves[rank % 2], 0, halves[1 - rank % 2], 0, "halves", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &inter);
  MPI_Intercomm_merge(inter, (rank + round) % 2, &merged);
  talk(merged);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  for (int i = 0; i < 2; ++i) MPI_Group_free(&halves[i]);
}

static void round_of(int round) {
  static char buffers[2][1 << 16];
  MPI_Session session, other;
  MPI_Comm comm, of_other;
  pass_point(); /* in no job */
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  pass_point(); /* nothing was sent */
  MPI_Session_attach_buffer(session, buffers[0], sizeof buffers[0]);
  MPI_Group all = everybody(session);
  MPI_Comm_create_from_group(all, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  pass_point();
  talk(comm);
  if (round == 1) {
    MPI_Init(NULL, NULL);
    MPI_Buffer_attach(buffers[1], sizeof buffers[1]);
    talk(MPI_COMM_WORLD);
    pass_point();
  }
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &other);
  MPI_Session_attach_buffer(other, MPI_BUFFER_AUTOMATIC, 0);
  MPI_Group again = everybody(other);
  MPI_Comm_create_from_group(again, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &of_other);
  groups(all, round);
  talk(of_other);
  MPI_Comm_free(&of_other);
  MPI_Group_free(&again);
  MPI_Session_finalize(&other);
  if (round == 1) MPI_Finalize();
  pass_point();
  talk(comm);
  MPI_Comm_free(&comm);
  MPI_Group_free(&all);
  MPI_Session_finalize(&session);
}

/* Rank 0 prints what all have. */
static void report(void) {
  MPI_Session session;
  MPI_Comm comm;
  uint64_t states[64];
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group all = everybody(session);
  MPI_Comm_create_from_group(all, "report", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Gather(&state, 1, MPI_UINT64_T, states, 1, MPI_UINT64_T, 0, comm);
  for (int r = 0; rank == 0 && r < size; ++r) printf("rank %d %016llx\n", r, (unsigned long long)states[r]);
  MPI_Comm_free(&comm);
  MPI_Group_free(&all);
  MPI_Session_finalize(&session);
}

int main(int argc, char** argv) {
  const char* own = getenv("HOLDFAST_RANK");
  if (argc > 3) {
    kill_at = atoi(argv[1]);
    kill_rank = atoi(argv[2]);
    marker = argv[3];
  }
  state = digest_of(digest_seed, own ? (uint64_t)atoi(own) : 0);
  for (int round = 0; round < 3; ++round) round_of(round);
  pass_point();
  report();
  pass_point(); /* over */
  return 0;
}
