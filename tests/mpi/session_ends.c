/* Ends of sessions that sessions_test.py looks at; the argument says which. */
#include <pthread.h>
#include <time.h>

#include "sessions.h"

static void sleep_ms(int ms) {
  nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

/* Joined again, and not left. */
static void unfinished(void) {
  MPI_Session session = open_session();
  close_session(&session);
  open_session();
  fprintf(stderr, "still open\n");
}

static void called_late(void) {
  MPI_Session session = open_session();
  MPI_Comm comm = comm_of(session, "mpi://SELF", "late");
  close_session(&session);
  MPI_Barrier(comm);
}

static void finalized_alone(void) {
  open_session();
  MPI_Finalize();
}

static void no_world(void) {
  int size = 0;
  open_session();
  MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static void world_is_gone(int* argc, char*** argv) {
  int size = 0;
  MPI_Session session = open_session();
  begin(argc, argv);
  MPI_Finalize();
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  close_session(&session);
}

/* More threads than there may be. */
static void asks_for_more(void) {
  MPI_Session session, other;
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
  OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
  other = open_session(); /* asks for nothing */
  OK(MPI_Info_free(&info));
  close_session(&session);
  close_session(&other);
}

static MPI_Comm thread_comm;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* in_thread(void* seed) {
  pthread_mutex_lock(&lock);
  talk(thread_comm, *(int*)seed);
  pthread_mutex_unlock(&lock);
  return NULL;
}

/* The order of threads is recorded until the process leaves; then it is too late to join again. */
static void threads(void) {
  MPI_Session session = open_session(), again = MPI_SESSION_NULL;
  pthread_t thread;
  int seed = 10, class = 0;
  thread_comm = comm_of(session, "mpi://WORLD", "threads");
  pthread_create(&thread, NULL, in_thread, &seed);
  pthread_join(thread, NULL);
  talk(thread_comm, 20);
  OK(MPI_Comm_free(&thread_comm));
  close_session(&session);
  OK(MPI_Error_class(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &again), &class));
  printf("class %d\n", class);
  fflush(stdout);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &again);
}

/* Rank 0 sends to those that have not joined yet and leaves; nobody waits for anybody who need not. */
static void late_receivers(void) {
  const char* text = getenv("HOLDFAST_RANK");
  const int number = text ? atoi(text) : 0;
  static int data[200000], more[200000];
  MPI_Request request;
  if (number > 0) sleep_ms(100 * number);
  MPI_Session session = open_session();
  MPI_Comm comm = comm_of(session, "mpi://WORLD", "late receivers");
  CHECK_INT(number, world_rank);
  for (int other = 1; other < world_size; ++other) {
    for (int i = 0; i < 3; ++i) {
      if (world_rank == 0) fill(data, 4000, (unsigned)i);
      if (world_rank == 0) OK(MPI_Send(data, 1000, MPI_INT, other, i, comm));
      if (world_rank == other) OK(MPI_Recv(data, 1000, MPI_INT, 0, i, comm, MPI_STATUS_IGNORE));
      if (world_rank == other) CHECK(holds(data, 4000, (unsigned)i));
    }
  }
  if (world_rank == 0) { /* on its way when the session is closed */
    fill(more, sizeof more, 9);
    OK(MPI_Isend(more, 200000, MPI_INT, world_size - 1, 9, comm, &request));
    OK(MPI_Request_free(&request));
  } else if (world_rank == world_size - 1) {
    OK(MPI_Recv(data, 200000, MPI_INT, 0, 9, comm, MPI_STATUS_IGNORE));
    CHECK(holds(data, sizeof data, 9));
  }
  OK(MPI_Comm_free(&comm));
  close_session(&session);
  if (world_rank == world_size - 1) printf("ok\n");
}

/* Only ranks 0 and 1 talk, and the others neither hear of it nor wait. */
static void only_two(void) {
  MPI_Session session = open_session();
  MPI_Group all = group_of(session, "mpi://WORLD"), two;
  MPI_Comm comm = MPI_COMM_NULL;
  OK(MPI_Group_rank(all, &world_rank));
  OK(MPI_Group_incl(all, 2, (int[]){1, 0}, &two));
  if (world_rank < 2) {
    OK(MPI_Comm_create_from_group(two, "two", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    sleep_ms(300);
    talk(comm, 10);
    OK(MPI_Comm_free(&comm));
  }
  OK(MPI_Group_free(&two));
  OK(MPI_Group_free(&all));
  close_session(&session);
  if (world_rank == 1) printf("ok\n");
}

/* Some ranks have sessions, and some do nothing. */
static void some(void) {
  const char* text = getenv("HOLDFAST_RANK");
  if (text && atoi(text) % 2) return;
  sleep_ms(200);
  MPI_Session session = open_session();
  MPI_Group group = group_of(session, "mpi://WORLD");
  OK(MPI_Group_free(&group));
  close_session(&session);
  if (text && atoi(text) == 0) printf("ok\n");
}

/* Rank 0 waits for the others in MPI_Finalize, and they have only a session. */
static void world_of_some(int* argc, char*** argv) {
  const char* text = getenv("HOLDFAST_RANK");
  MPI_Session session = open_session();
  if (text && atoi(text) == 0) begin(argc, argv);
  if (text && atoi(text) == 0) MPI_Finalize();
  close_session(&session);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "unfinished")) unfinished();
  else if (!strcmp(what, "called_late")) called_late();
  else if (!strcmp(what, "finalized_alone")) finalized_alone();
  else if (!strcmp(what, "no_world")) no_world();
  else if (!strcmp(what, "world_is_gone")) world_is_gone(&argc, &argv);
  else if (!strcmp(what, "asks_for_more")) asks_for_more();
  else if (!strcmp(what, "threads")) threads();
  else if (!strcmp(what, "late_receivers")) late_receivers();
  else if (!strcmp(what, "only_two")) only_two();
  else if (!strcmp(what, "some")) some();
  else if (!strcmp(what, "world_of_some")) world_of_some(&argc, &argv);
  else return 2;
  return 0;
}
