/* The tool interface (MPI 5.0, 15.3): started and ended any number of times, before MPI_Init, meanwhile and after MPI_Finalize. What there
 * is to be found differs from MPI to MPI; what is written here holds where there is nothing. No error handler is called (15.3.10). */
#include "check.h"

static int failures;

#define GIVES(expected, call)                                                                              \
  do {                                                                                                     \
    int expected_ = (expected), code_ = (call);                                                            \
    if (expected_ == code_) break;                                                                         \
    fprintf(stderr, "rank %d: line %d: %s is %d, not %d\n", world_rank, __LINE__, #call, code_, expected_); \
    ++failures;                                                                                            \
  } while (0)

static void start(int required) {
  int provided = -1;
  GIVES(MPI_SUCCESS, MPI_T_init_thread(required, &provided));
  if (provided < MPI_THREAD_SINGLE || provided > MPI_THREAD_MULTIPLE) ++failures;
}

static void counts(void) {
  int (*const functions[])(int*) = {MPI_T_cvar_get_num, MPI_T_pvar_get_num,     MPI_T_event_get_num, MPI_T_source_get_num,
                                    MPI_T_category_get_num, MPI_T_category_changed};
  for (int i = 0; i < 6; ++i) {
    int n = -1;
    GIVES(MPI_SUCCESS, functions[i](&n));
    GIVES(0, n);
    GIVES(MPI_T_ERR_INVALID, functions[i](NULL));
  }
}

static void names_and_indices(void) {
  char text[16];
  int index = -1, length = sizeof text, n = 0;
  MPI_Count ticks;
  MPI_T_cvar_handle cvar;
  MPI_T_event_registration registration;
  GIVES(MPI_T_ERR_INVALID_NAME, MPI_T_cvar_get_index("nothing", &index));
  GIVES(MPI_T_ERR_INVALID_NAME, MPI_T_pvar_get_index("nothing", MPI_T_PVAR_CLASS_COUNTER, &index));
  GIVES(MPI_T_ERR_INVALID_NAME, MPI_T_category_get_index("nothing", &index));
  GIVES(MPI_T_ERR_INVALID_NAME, MPI_T_event_get_index("nothing", &index));
  GIVES(MPI_T_ERR_INVALID, MPI_T_cvar_get_index(NULL, &index));
  GIVES(MPI_T_ERR_INVALID, MPI_T_pvar_get_index("nothing", MPI_T_PVAR_CLASS_COUNTER, NULL));
  GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_get_info(0, text, &length, &n, NULL, NULL, NULL, NULL, NULL, NULL));
  GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_pvar_get_info(0, text, &length, &n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_info(0, text, &length, NULL, NULL, NULL, NULL, NULL));
  GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_event_get_info(0, text, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_source_get_info(0, text, &length, NULL, NULL, NULL, NULL, NULL, NULL));
  GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_source_get_timestamp(0, &ticks));
  GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_cvars(0, 1, &index));
  GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_pvars(0, 1, &index));
  GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_events(0, 1, &index));
  GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_categories(0, 1, &index));
  GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_num_events(0, &n));
  GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_enum_get_info(MPI_T_ENUM_NULL, &n, text, &length));
  GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &n, text, &length));
  GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_handle_alloc(0, NULL, &cvar, &n));
  GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &registration));
}

static void handles(void) {
  MPI_T_cvar_handle cvar = MPI_T_CVAR_HANDLE_NULL;
  MPI_T_event_registration registration = (MPI_T_event_registration)0;
  MPI_T_event_instance instance = (MPI_T_event_instance)0;
  MPI_Info info;
  MPI_Count ticks;
  int value = 0;
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_read(cvar, &value));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_write(cvar, &value));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_handle_free(&cvar));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_get_info(registration, &info));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_set_info(registration, MPI_INFO_NULL));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_NONE, &info));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_callback_set_info(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_set_dropped_handler(registration, NULL));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_free(registration, NULL, NULL));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_read(instance, 0, &value));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_copy(instance, &value));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_get_source(instance, &value));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_get_timestamp(instance, &ticks));
}

static void sessions(void) {
  MPI_T_pvar_session first, second, gone;
  MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
  int n = 0, value = 0;
  GIVES(MPI_SUCCESS, MPI_T_pvar_session_create(&first));
  GIVES(MPI_SUCCESS, MPI_T_pvar_session_create(&second));
  if (first == second || first == MPI_T_PVAR_SESSION_NULL || second == MPI_T_PVAR_SESSION_NULL) ++failures;
  GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_pvar_handle_alloc(first, 0, NULL, &handle, &n));
  GIVES(MPI_SUCCESS, MPI_T_pvar_start(first, MPI_T_PVAR_ALL_HANDLES));
  GIVES(MPI_SUCCESS, MPI_T_pvar_stop(first, MPI_T_PVAR_ALL_HANDLES));
  GIVES(MPI_SUCCESS, MPI_T_pvar_reset(first, MPI_T_PVAR_ALL_HANDLES));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_start(first, handle));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_stop(first, handle));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_reset(first, handle));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(first, MPI_T_PVAR_ALL_HANDLES, &value));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_write(first, handle, &value));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_readreset(first, handle, &value));
  GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_handle_free(first, &handle));
  gone = first;
  GIVES(MPI_SUCCESS, MPI_T_pvar_session_free(&first));
  if (first != MPI_T_PVAR_SESSION_NULL) ++failures;
  GIVES(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_session_free(&gone));
  GIVES(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_start(gone, MPI_T_PVAR_ALL_HANDLES));
  GIVES(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_handle_alloc(first, 0, NULL, &handle, &n));
  GIVES(MPI_SUCCESS, MPI_T_pvar_session_free(&second));
  GIVES(MPI_T_ERR_INVALID, MPI_T_pvar_session_create(NULL));
}

static void started(void) {
  counts();
  names_and_indices();
  handles();
  sessions();
}

static void not_started(void) {
  MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
  int n = -1;
  GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_cvar_get_num(&n));
  GIVES(-1, n);
  GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_cvar_get_num(NULL));
  GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_category_changed(&n));
  GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_get_index("nothing", MPI_T_PVAR_CLASS_COUNTER, &n));
  GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_source_get_timestamp(0, NULL));
  GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_session_create(&session));
  GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_session_free(&session));
  GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_finalize());
}

/* Once within once. */
static void twice(void) {
  not_started();
  GIVES(MPI_T_ERR_INVALID, MPI_T_init_thread(MPI_THREAD_SINGLE, NULL));
  start(MPI_THREAD_SINGLE);
  start(MPI_THREAD_MULTIPLE);
  started();
  GIVES(MPI_SUCCESS, MPI_T_finalize());
  started();
  GIVES(MPI_SUCCESS, MPI_T_finalize());
  not_started();
}

int main(int argc, char** argv) {
  MPI_T_pvar_session session;
  twice();
  start(MPI_THREAD_SINGLE); /* and is left so while MPI begins and ends */
  GIVES(MPI_SUCCESS, MPI_T_pvar_session_create(&session));
  begin(&argc, &argv);
  CHECK_INT(0, failures);
  started();
  GIVES(MPI_SUCCESS, MPI_T_finalize());
  twice();
  start(MPI_THREAD_FUNNELED);
  GIVES(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_session_free(&session));
  CHECK_INT(0, failures);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  started();
  GIVES(MPI_SUCCESS, MPI_T_finalize());
  twice();
  if (failures) return 3;
  if (world_rank == 0) printf("ok\n");
  return 0;
}
