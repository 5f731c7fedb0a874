/* threads MODE [FILE]: a second thread, of which MPI_THREAD_SERIALIZED allows one at a time to call MPI (11.6). Rank 0 prints a sum.
     turns        both threads pass messages round the ring by turns
     queries      the second one only asks what any thread may ask at any time
     both         the first one waits in MPI_Recv for what the second one sends: that is not allowed
     then_both    the same after turns
     again FILE   by turns, and if FILE is there, the second one before the first; makes FILE */
#include <pthread.h>
#include <unistd.h>

#include "check.h"
#include "../program_parts.h"

enum { ROUNDS = 30 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t passed = PTHREAD_COND_INITIALIZER;
static int turn, asking; /* whose turn it is; the second thread only asks */
static long sum;

static void pass_messages(int round) {
  int out = world_rank * 1000 + round, in = -1, all = 0, one = 1;
  OK(MPI_Sendrecv(&out, 1, MPI_INT, next_rank(), round, &in, 1, MPI_INT, previous_rank(), round, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  CHECK_INT(previous_rank() * 1000 + round, in);
  OK(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_INT(world_size, all);
  sum += in;
}

static void ask(void) {
  int flag = -1, level = -1, version, subversion;
  OK(MPI_Initialized(&flag));
  CHECK_INT(1, flag);
  OK(MPI_Finalized(&flag));
  CHECK_INT(0, flag);
  OK(MPI_Is_thread_main(&flag));
  CHECK_INT(0, flag);
  OK(MPI_Query_thread(&level));
  CHECK_INT(MPI_THREAD_SERIALIZED, level);
  OK(MPI_Get_version(&version, &subversion));
}

static void* second(void* nothing) {
  for (int round = 1; round < ROUNDS; round += 2) {
    pthread_mutex_lock(&mutex);
    while (turn != 1) pthread_cond_wait(&passed, &mutex);
    if (asking) ask();
    else pass_messages(round);
    turn = 0;
    pthread_cond_signal(&passed);
    pthread_mutex_unlock(&mutex);
  }
  return nothing;
}

static void* send_to_self(void* nothing) {
  int one = 1;
  usleep(200 * 1000);
  MPI_Send(&one, 1, MPI_INT, world_rank, 7, MPI_COMM_WORLD);
  return nothing;
}

static void both_at_once(void) {
  int one;
  pthread_t sender;
  pthread_create(&sender, NULL, send_to_self, NULL);
  MPI_Recv(&one, 1, MPI_INT, world_rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  pthread_join(sender, NULL);
}

int main(int argc, char** argv) {
  int provided = -1, flag = 0;
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  CHECK_INT(MPI_THREAD_SERIALIZED, provided);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &world_size));
  OK(MPI_Is_thread_main(&flag));
  CHECK_INT(1, flag);
  if (argc > 1 && strcmp(argv[1], "both") == 0) both_at_once();
  asking = argc > 1 && strcmp(argv[1], "queries") == 0;
  const char* file = argc > 2 ? argv[2] : NULL;
  const int early = file && is_there(file);
  if (file && !early) fclose(fopen(file, "w"));
  for (int round = 100; round < 120 && !early; ++round) pass_messages(round);
  pthread_create(&thread, NULL, second, NULL);
  for (int round = 0; round < ROUNDS; round += 2) {
    if (!early) pass_messages(round);
    pthread_mutex_lock(&mutex);
    turn = 1;
    pthread_cond_signal(&passed);
    while (turn != 0) pthread_cond_wait(&passed, &mutex);
    pthread_mutex_unlock(&mutex);
  }
  pthread_join(thread, NULL);
  if (argc > 1 && strcmp(argv[1], "then_both") == 0) both_at_once();
  long total = 0;
  OK(MPI_Reduce(&sum, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
  if (world_rank == 0) printf("sum %ld\n", total);
  OK(MPI_Finalize());
  return 0;
}
