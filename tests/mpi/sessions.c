/* Sessions (MPI 5.0, 11.3): alone, one after the other, together, and before, around, inside of and after MPI_Init to MPI_Finalize; process
 * sets; error handlers; what is wrong and how. The argument says which. */
#include "sessions.h"

static void check_world(int initialized, int finalized) {
  int flag = -1;
  OK(MPI_Initialized(&flag));
  CHECK_INT(initialized, flag);
  OK(MPI_Finalized(&flag));
  CHECK_INT(finalized, flag);
}

static void use(MPI_Session session, int seed) {
  MPI_Comm all = comm_of(session, "mpi://WORLD", "all"), self = comm_of(session, "mpi://SELF", "self");
  talk(all, seed);
  talk(self, seed);
  OK(MPI_Comm_free(&self));
  OK(MPI_Comm_disconnect(&all));
}

static void sets(MPI_Session session) {
  int n = -1, length = 0, found = 0;
  char name[MPI_MAX_PSET_NAME_LEN], value[16];
  OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
  CHECK_INT(2, n);
  for (int i = 0; i < n; ++i) {
    MPI_Info info;
    MPI_Group group;
    int needed = 0, size = -1, rank = -1, has = 0, room = sizeof value;
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &needed, NULL));
    length = needed;
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name));
    CHECK_INT(needed, length);
    CHECK_INT(needed, (int)strlen(name) + 1);
    length = 5; /* what has room, with the final zero */
    char part[8] = "0123456";
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, part));
    CHECK_INT(needed, length);
    CHECK(!strcmp(part, "mpi:") && part[5] == '5');
    group = group_of(session, name);
    OK(MPI_Group_size(group, &size));
    OK(MPI_Group_rank(group, &rank));
    if (!strcmp(name, "mpi://SELF")) CHECK_INT(1, size);
    if (!strcmp(name, "mpi://SELF")) CHECK_INT(0, rank);
    found += !strcmp(name, "mpi://SELF") + 2 * !strcmp(name, "mpi://WORLD");
    OK(MPI_Group_free(&group));
    OK(MPI_Session_get_pset_info(session, name, &info));
    OK(MPI_Info_get_string(info, "mpi_size", &room, value, &has));
    CHECK(has);
    CHECK_INT(size, atoi(value));
    OK(MPI_Info_free(&info));
  }
  CHECK_INT(3, found);
  MPI_Group same = group_of(session, "mpi://world");
  OK(MPI_Group_size(same, &n));
  CHECK_INT(world_size, n);
  OK(MPI_Group_free(&same));
}

static void info(MPI_Session session, const char* level) {
  MPI_Info used;
  char value[64];
  int length = sizeof value, has = 0;
  OK(MPI_Session_get_info(session, &used));
  OK(MPI_Info_get_string(used, "thread_level", &length, value, &has));
  CHECK(has && !strcmp(value, level));
  OK(MPI_Info_free(&used));
}

static MPI_Session raised_for;
static int raised, raised_class;

static void on_error(MPI_Session* session, int* code, ...) {
  raised_for = *session;
  OK(MPI_Error_class(*code, &raised_class));
  ++raised;
}

#define RAISES(handle, error_class, call) \
  do {                                    \
    raised = 0;                           \
    FAILS(error_class, call);             \
    CHECK_INT(1, raised);                 \
    CHECK_INT(error_class, raised_class); \
    CHECK(raised_for == (handle));        \
  } while (0)

static void on_comm_error(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
}

static void handlers(void) {
  MPI_Session session = MPI_SESSION_NULL, other = MPI_SESSION_NULL;
  MPI_Errhandler mine, of_comms, found;
  MPI_Info wrong;
  MPI_Group group;
  char name[8];
  int n = 0, room = 8, none = -1;
  OK(MPI_Session_create_errhandler(on_error, &mine));
  OK(MPI_Comm_create_errhandler(on_comm_error, &of_comms));
  OK(MPI_Info_create(&wrong));
  OK(MPI_Info_set(wrong, "thread_level", "MPI_THREAD_FEW"));
  RAISES(MPI_SESSION_NULL, MPI_ERR_INFO_VALUE, MPI_Session_init(wrong, mine, &session));
  FAILS(MPI_ERR_ARG, MPI_Session_init(MPI_INFO_NULL, of_comms, &session));
  OK(MPI_Session_init(MPI_INFO_NULL, mine, &session));
  RAISES(session, MPI_ERR_ARG, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 2, &room, name));
  RAISES(session, MPI_ERR_ARG, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &room, name));
  RAISES(session, MPI_ERR_ARG, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &none, name));
  RAISES(session, MPI_ERR_ARG, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &room, NULL));
  RAISES(session, MPI_ERR_INFO, MPI_Session_get_num_psets(session, (MPI_Info)1, &n));
  RAISES(session, MPI_ERR_ARG, MPI_Session_get_num_psets(session, MPI_INFO_NULL, NULL));
  RAISES(session, MPI_ERR_ARG, MPI_Session_get_pset_info(session, "mpi://NOBODY", &wrong));
  group = MPI_GROUP_EMPTY;
  RAISES(session, MPI_ERR_ARG, MPI_Group_from_session_pset(session, "mpi://NOBODY", &group));
  CHECK(group == MPI_GROUP_NULL);
  raised = 0;
  OK(MPI_Session_call_errhandler(session, MPI_ERR_TAG));
  CHECK(raised == 1 && raised_class == MPI_ERR_TAG && raised_for == session);
  OK(MPI_Session_get_errhandler(session, &found));
  CHECK(found == mine);
  OK(MPI_Errhandler_free(&found));
  OK(MPI_Errhandler_free(&mine));
  RAISES(session, MPI_ERR_ARG, MPI_Session_set_errhandler(session, of_comms)); /* the session still has it */
  OK(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
  raised = 0;
  FAILS(MPI_ERR_ARG, MPI_Session_get_pset_info(session, "", &wrong));
  CHECK_INT(0, raised);
  other = MPI_Session_fromint(MPI_Session_toint(session));
  CHECK(other == session);
  CHECK(MPI_Session_f2c(MPI_Session_c2f(MPI_SESSION_NULL)) == MPI_SESSION_NULL);
  OK(MPI_Info_free(&wrong));
  OK(MPI_Errhandler_free(&of_comms));
  close_session(&session);
}

/* Whose errors, of sessions that are none, go to MPI_COMM_SELF's handler. */
static void no_session(MPI_Session session) {
  int n = 0;
  MPI_Info info;
  MPI_Group group;
  MPI_Errhandler handler;
  FAILS(MPI_ERR_SESSION, MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
  FAILS(MPI_ERR_SESSION, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &n, NULL));
  FAILS(MPI_ERR_SESSION, MPI_Session_get_info(session, &info));
  FAILS(MPI_ERR_SESSION, MPI_Session_get_pset_info(session, "mpi://SELF", &info));
  FAILS(MPI_ERR_SESSION, MPI_Group_from_session_pset(session, "mpi://SELF", &group));
  FAILS(MPI_ERR_SESSION, MPI_Session_get_errhandler(session, &handler));
  FAILS(MPI_ERR_SESSION, MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
  FAILS(MPI_ERR_SESSION, MPI_Session_call_errhandler(session, MPI_ERR_TAG));
  FAILS(MPI_ERR_SESSION, MPI_Session_flush_buffer(session));
  FAILS(MPI_ERR_SESSION, MPI_Session_attach_buffer(session, &n, 4));
  FAILS(MPI_ERR_SESSION, MPI_Session_finalize(&session));
}

/* A group outlives its session; a communicator is made of it no more. */
static void made_too_late(void) {
  MPI_Session session = open_session(), other = open_session();
  MPI_Group group = group_of(session, "mpi://SELF"), both, empty;
  MPI_Comm comm = MPI_COMM_NULL;
  int n = -1;
  OK(MPI_Group_union(group, group, &both));
  OK(MPI_Group_excl(group, 1, (int[]){0}, &empty));
  close_session(&session);
  OK(MPI_Group_size(both, &n));
  CHECK_INT(1, n);
  FAILS(MPI_ERR_SESSION, MPI_Comm_create_from_group(group, "late", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  FAILS(MPI_ERR_SESSION, MPI_Comm_create_from_group(both, "late", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  CHECK(comm == MPI_COMM_NULL);
  OK(MPI_Group_free(&group));
  OK(MPI_Group_free(&both));
  OK(MPI_Group_free(&empty));
  close_session(&other);
}

/* Two groups of one session, as an intercommunicator; with the wrong arguments too. */
static void between(MPI_Session session) {
  MPI_Group all = group_of(session, "mpi://WORLD"), halves[2];
  MPI_Comm inter = MPI_COMM_NULL, merged = MPI_COMM_NULL;
  int size = 0, in_high = world_rank >= world_size / 2;
  if (world_size < 2) {
    OK(MPI_Group_free(&all));
    return;
  }
  OK(MPI_Group_range_incl(all, 1, (int[][3]){{0, world_size / 2 - 1, 1}}, &halves[0]));
  OK(MPI_Group_range_incl(all, 1, (int[][3]){{world_size / 2, world_size - 1, 1}}, &halves[1]));
  FAILS(MPI_ERR_GROUP, MPI_Comm_create_from_group(halves[!in_high], "not ours", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter));
  OK(MPI_Intercomm_create_from_groups(halves[in_high], 0, halves[!in_high], 0, "halves", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter));
  OK(MPI_Comm_remote_size(inter, &size));
  CHECK_INT(in_high ? world_size / 2 : world_size - world_size / 2, size);
  OK(MPI_Intercomm_merge(inter, in_high, &merged));
  talk(merged, 40);
  OK(MPI_Comm_free(&merged));
  OK(MPI_Comm_free(&inter));
  for (int i = 0; i < 2; ++i) OK(MPI_Group_free(&halves[i]));
  OK(MPI_Group_free(&all));
}

/* Calls with one string are matched, in whatever order those with different strings come. */
static void by_string(MPI_Session session) {
  MPI_Comm first, second, early, late;
  const int odd = world_rank % 2;
  MPI_Group group = group_of(session, "mpi://WORLD"), pair;
  int partner = world_rank ^ 1, size = 0;
  if (partner < world_size) {
    OK(MPI_Group_incl(group, 2, (int[]){world_rank & ~1, world_rank | 1}, &pair));
    OK(MPI_Comm_create_from_group(pair, "first pair", MPI_INFO_NULL, MPI_ERRORS_RETURN, &early));
    OK(MPI_Comm_create_from_group(pair, "first pair", MPI_INFO_NULL, MPI_ERRORS_RETURN, &late));
    if (odd) { /* distinct, and the same ones in the same order at both ends */
      OK(MPI_Recv(&size, 1, MPI_INT, 0, 1, late, MPI_STATUS_IGNORE));
      CHECK_INT(2, size);
      OK(MPI_Recv(&size, 1, MPI_INT, 0, 1, early, MPI_STATUS_IGNORE));
      CHECK_INT(1, size);
    } else {
      OK(MPI_Send((int[]){1}, 1, MPI_INT, 1, 1, early));
      OK(MPI_Send((int[]){2}, 1, MPI_INT, 1, 1, late));
    }
    OK(MPI_Comm_free(&early));
    OK(MPI_Comm_free(&late));
    OK(MPI_Group_free(&pair));
  }
  first = comm_of(session, "mpi://WORLD", "one");
  second = comm_of(session, "mpi://WORLD", "two");
  OK(MPI_Comm_size(second, &size));
  CHECK_INT(world_size, size);
  talk(second, 60);
  talk(first, 60);
  OK(MPI_Comm_free(&first));
  OK(MPI_Comm_free(&second));
  OK(MPI_Group_free(&group));
}

static void alone(void) {
  MPI_Session session, other;
  check_world(0, 0);
  handlers();
  for (int round = 0; round < 3; ++round) { /* nothing is open between them */
    session = open_session();
    use(session, 10 + 10 * round);
    sets(session);
    close_session(&session);
  }
  session = open_session();
  other = open_session();
  MPI_Comm comms[2] = {comm_of(session, "mpi://WORLD", "same"), comm_of(other, "mpi://WORLD", "same")}, same;
  OK(MPI_Comm_dup(comms[0], &same));
  talk(comms[0], 70);
  talk(comms[1], 70);
  OK(MPI_Comm_free(&comms[0]));
  OK(MPI_Comm_free(&same));
  close_session(&session);
  talk(comms[1], 80);
  between(other);
  OK(MPI_Comm_free(&comms[1]));
  made_too_late();
  close_session(&other);
  check_world(0, 0);
}

static void before(int* argc, char*** argv) {
  MPI_Session session = open_session();
  use(session, 10);
  close_session(&session);
  begin(argc, argv);
  check_world(1, 0);
  talk(MPI_COMM_WORLD, 20);
  MPI_Finalize();
}

static void after(int* argc, char*** argv) {
  MPI_Session session;
  begin(argc, argv);
  talk(MPI_COMM_WORLD, 20);
  MPI_Finalize();
  check_world(1, 1);
  for (int round = 0; round < 2; ++round) {
    session = open_session();
    use(session, 30 + 10 * round);
    close_session(&session);
  }
  check_world(1, 1);
}

/* The session's communicator works before, between and behind; MPI_COMM_WORLD is there between alone. */
static void around(int* argc, char*** argv) {
  MPI_Session session = open_session();
  MPI_Comm comm = comm_of(session, "mpi://WORLD", "around");
  talk(comm, 10);
  check_world(0, 0);
  begin(argc, argv);
  check_world(1, 0);
  talk(MPI_COMM_WORLD, 20);
  talk(comm, 20);
  MPI_Finalize();
  check_world(1, 1);
  talk(comm, 30);
  OK(MPI_Comm_free(&comm));
  close_session(&session);
}

static void inside(int* argc, char*** argv) {
  MPI_Session session, gone;
  int n = -1, size = 0, world = 0;
  begin(argc, argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  session = gone = open_session();
  OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
  use(session, 10);
  by_string(session);
  no_session(MPI_SESSION_NULL);
  close_session(&session);
  no_session(gone);
  no_session((MPI_Session)1);
  no_session((MPI_Session)MPI_COMM_WORLD);
  handlers();
  session = open_session();
  info(session, "MPI_THREAD_SINGLE"); /* what MPI_Init has fixed */
  MPI_Comm comm = comm_of(session, "mpi://WORLD", "inside");
  OK(MPI_Comm_compare(comm, MPI_COMM_WORLD, &n));
  CHECK_INT(MPI_CONGRUENT, n);
  OK(MPI_Comm_size(comm, &size));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &world));
  CHECK_INT(world, size);
  OK(MPI_Comm_free(&comm));
  close_session(&session);
  talk(MPI_COMM_WORLD, 30);
  MPI_Finalize();
}

/* The first to come says for how many threads. */
static void levels(int* argc, char*** argv) {
  MPI_Session session, other;
  MPI_Info asked;
  int provided = -1;
  OK(MPI_Info_create(&asked));
  OK(MPI_Info_set(asked, "thread_level", "MPI_THREAD_FUNNELED"));
  OK(MPI_Session_init(asked, MPI_ERRORS_RETURN, &session));
  info(session, "MPI_THREAD_FUNNELED");
  OK(MPI_Info_set(asked, "thread_level", "MPI_THREAD_SERIALIZED"));
  OK(MPI_Session_init(asked, MPI_ERRORS_RETURN, &other));
  info(other, "MPI_THREAD_FUNNELED");
  close_session(&other);
  use(session, 10);
  MPI_Init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
  CHECK_INT(MPI_THREAD_FUNNELED, provided);
  OK(MPI_Is_thread_main(&provided));
  CHECK_INT(1, provided);
  MPI_Finalize();
  close_session(&session);
  session = open_session();
  info(session, "MPI_THREAD_FUNNELED");
  close_session(&session);
  OK(MPI_Info_free(&asked));
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "alone";
  if (!strcmp(what, "alone")) alone();
  else if (!strcmp(what, "before")) before(&argc, &argv);
  else if (!strcmp(what, "after")) after(&argc, &argv);
  else if (!strcmp(what, "around")) around(&argc, &argv);
  else if (!strcmp(what, "inside")) inside(&argc, &argv);
  else if (!strcmp(what, "levels")) levels(&argc, &argv);
  else return 2;
  if (world_rank == 0) printf("ok\n");
  return 0;
}
