/* Making, comparing and freeing communicators, and what they carry. */
#include "coll.h"

/* A communicator works and is apart from others: a message and a reduction. */
static void use(MPI_Comm comm) {
  int rank, size, sum = 0, got = -1;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK_INT(size * (size - 1) / 2, sum);
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT, (rank + size - 1) % size, 1, comm,
                  MPI_STATUS_IGNORE));
  CHECK_INT((rank + size - 1) % size, got);
}

static int compare(MPI_Comm a, MPI_Comm b) {
  int result;
  OK(MPI_Comm_compare(a, b, &result));
  return result;
}

static int copies;
static int copy_attribute(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval;
  ++copies;
  *(void**)out = (char*)in + 1;
  *flag = extra == NULL;
  return MPI_SUCCESS;
}
static int deletions;
static int delete_attribute(MPI_Comm comm, int keyval, void* attribute, void* extra) {
  (void)comm, (void)keyval, (void)attribute, (void)extra;
  ++deletions;
  return MPI_SUCCESS;
}

static const char* const asserts[] = {"mpi_assert_no_any_tag", "mpi_assert_no_any_source", "mpi_assert_exact_length",
                                      "mpi_assert_allow_overtaking", "mpi_assert_strict_persistent_collective_ordering"};

static int has_hint(MPI_Comm comm, const char* key, const char* value) {
  MPI_Info info;
  char text[MPI_MAX_INFO_VAL + 1] = "";
  int length = sizeof text, flag = 0;
  OK(MPI_Comm_get_info(comm, &info));
  OK(MPI_Info_get_string(info, key, &length, text, &flag));
  OK(MPI_Info_free(&info));
  return flag && strcmp(text, value) == 0;
}

/* A duplicate has the hints that it is given and no others; those not given have their default. */
static void hints(void) {
  const char* key = "mpi_assert_no_any_tag";
  MPI_Comm comm, copy[4];
  MPI_Info info;
  MPI_Request requests[2];
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, key, "true"));
  OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
  OK(MPI_Comm_dup(comm, &copy[0]));
  OK(MPI_Comm_idup(comm, &copy[1], &requests[0]));
  OK(MPI_Comm_idup_with_info(comm, info, &copy[2], &requests[1]));
  OK(MPI_Comm_split(comm, 0, 0, &copy[3]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(has_hint(comm, key, "true"));
  CHECK(has_hint(comm, "mpi_assert_exact_length", "false"));
  CHECK(has_hint(MPI_COMM_WORLD, key, "false"));
  for (int i = 0; i < 4; ++i) {
    CHECK(has_hint(copy[i], key, i == 2 ? "true" : "false"));
    OK(MPI_Comm_free(&copy[i]));
  }
  for (int i = 0; i < 5; ++i) {
    OK(MPI_Info_set(info, asserts[i], "true"));
    OK(MPI_Comm_set_info(comm, info));
    CHECK(has_hint(comm, asserts[i], "true"));
  }
  use(comm);
  OK(MPI_Info_set(info, key, "false"));
  OK(MPI_Comm_set_info(comm, info));
  CHECK(has_hint(comm, key, "false"));
  OK(MPI_Info_set(info, key, "perhaps")); /* no value of this hint */
  OK(MPI_Comm_set_info(comm, info));
  CHECK(has_hint(comm, key, "false"));
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_free(&comm));
}

/* What memory may be given to MPI is said by the library, whatever the program says (MPI 5.0, 11.4.3). */
static void memory_kinds(void) {
  const char* key = "mpi_memory_alloc_kinds";
  MPI_Comm copies_of[2];
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, key, "cuda:device"));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copies_of[0]));
  OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &copies_of[1]));
  OK(MPI_Comm_set_info(copies_of[0], info));
  OK(MPI_Info_free(&info));
  CHECK(has_hint(MPI_COMM_WORLD, key, "mpi,system"));
  CHECK(has_hint(MPI_COMM_SELF, key, "mpi,system"));
  for (int i = 0; i < 2; ++i) {
    CHECK(has_hint(copies_of[i], key, "mpi,system"));
    OK(MPI_Comm_free(&copies_of[i]));
  }
}

static void duplicates(void) {
  MPI_Comm comm, other;
  MPI_Info info;
  char text[MPI_MAX_INFO_VAL + 1];
  int length, flag;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_INT(MPI_CONGRUENT, compare(comm, MPI_COMM_WORLD));
  CHECK_INT(MPI_IDENT, compare(comm, comm));
  use(comm);
  OK(MPI_Comm_set_name(comm, "a name"));
  OK(MPI_Comm_get_name(comm, text, &length));
  CHECK(length == 6 && strcmp(text, "a name") == 0);
  OK(MPI_Comm_dup(comm, &other));
  OK(MPI_Comm_get_name(other, text, &length));
  CHECK_INT(0, length);
  OK(MPI_Comm_free(&other));
  CHECK(other == MPI_COMM_NULL);
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  OK(MPI_Info_set(info, "nonsense", "ignored"));
  OK(MPI_Comm_dup_with_info(comm, info, &other));
  OK(MPI_Info_free(&info));
  use(other);
  OK(MPI_Comm_get_info(other, &info));
  length = sizeof text;
  OK(MPI_Info_get_string(info, "nonsense", &length, text, &flag));
  CHECK(!flag);
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_free(&other));
  /* a message in one is not seen in the other */
  OK(MPI_Comm_dup(comm, &other));
  int a = 1, b = 2, got = 0;
  MPI_Request requests[2];
  OK(MPI_Isend(&a, 1, MPI_INT, next_rank(), 0, comm, &requests[0]));
  OK(MPI_Isend(&b, 1, MPI_INT, next_rank(), 0, other, &requests[1]));
  OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, other, MPI_STATUS_IGNORE));
  CHECK_INT(2, got);
  OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
  CHECK_INT(1, got);
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  OK(MPI_Comm_free(&comm));
  use(other);
  OK(MPI_Comm_disconnect(&other));
  CHECK(other == MPI_COMM_NULL);
}

static void attributes(void) {
  MPI_Comm comm, copy, idup;
  MPI_Request request;
  int kept, lost, flag, deleted = deletions;
  char* found;
  OK(MPI_Comm_create_keyval(copy_attribute, delete_attribute, &kept, NULL));
  OK(MPI_Comm_create_keyval(copy_attribute, delete_attribute, &lost, &lost));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_attr(comm, kept, (void*)100));
  OK(MPI_Comm_set_attr(comm, lost, (void*)200));
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_idup(comm, &idup, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_INT(4, copies);
  MPI_Comm both[2] = {copy, idup};
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Comm_get_attr(both[i], kept, &found, &flag));
    CHECK(flag && found == (char*)101);
    OK(MPI_Comm_get_attr(both[i], lost, &found, &flag));
    CHECK(!flag);
    OK(MPI_Comm_free(&both[i]));
  }
  OK(MPI_Comm_free(&comm));
  CHECK_INT(deleted + 4, deletions);
  OK(MPI_Comm_free_keyval(&kept));
  OK(MPI_Comm_free_keyval(&lost));
}

/* Several duplications under way at once, with other collectives between them. */
static void concurrent(void) {
  enum { n = 8 };
  MPI_Comm comms[n];
  MPI_Request requests[n + 1];
  int one = 1, sum = 0;
  for (int i = 0; i < n; ++i) {
    if (i == 4) OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[n]));
    OK(MPI_Comm_idup(i % 2 && 0 ? comms[0] : MPI_COMM_WORLD, &comms[i], &requests[i]));
  }
  if (world_rank % 2) {
    OK(MPI_Waitall(n + 1, requests, MPI_STATUSES_IGNORE));
  } else {
    for (int i = n; i >= 0; --i) OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
  }
  CHECK_INT(world_size, sum);
  for (int i = 0; i < n; ++i) use(comms[i]);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) CHECK_INT(MPI_CONGRUENT, compare(comms[i], comms[j]));
  }
  for (int i = 0; i < n; ++i) OK(MPI_Comm_free(&comms[(i * 3) % n]));
  OK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comms[0], &requests[0]));
  OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  use(comms[0]);
  OK(MPI_Comm_free(&comms[0]));
}

static void splits(void) {
  MPI_Comm comm, deeper;
  int rank, size;
  OK(MPI_Comm_split(MPI_COMM_WORLD, world_rank % 3, -world_rank, &comm));
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  CHECK_INT((world_size - world_rank % 3 + 2) / 3, size);
  CHECK_INT(size - 1 - world_rank / 3, rank);
  use(comm);
  OK(MPI_Comm_split(comm, rank == 0 ? MPI_UNDEFINED : 7, 0, &deeper));
  CHECK((deeper == MPI_COMM_NULL) == (rank == 0));
  if (rank) {
    use(deeper);
    OK(MPI_Comm_free(&deeper));
  }
  OK(MPI_Comm_free(&comm));
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, world_size - world_rank, &comm));
  CHECK_INT(world_size > 1 ? MPI_SIMILAR : MPI_CONGRUENT, compare(comm, MPI_COMM_WORLD));
  if (world_size > 1) CHECK_INT(MPI_UNEQUAL, compare(comm, MPI_COMM_SELF));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
  CHECK(comm != MPI_COMM_NULL);
  use(comm);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, world_rank ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
  CHECK((comm != MPI_COMM_NULL) == (world_rank == 0));
  if (world_rank == 0) OK(MPI_Comm_free(&comm));
}

/* Groups made of ranks first, first + step, ... */
static MPI_Group every(int first, int step) {
  MPI_Group world, group;
  int range[1][3] = {{first, world_size - 1, step}};
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Group_range_incl(world, 1, range, &group));
  OK(MPI_Group_free(&world));
  return group;
}

static void from_groups(void) {
  MPI_Comm comm, nested;
  MPI_Group mine = every(world_rank % 2, 2); /* evens and odds, at once and apart */
  OK(MPI_Comm_create(MPI_COMM_WORLD, mine, &comm));
  CHECK(comm != MPI_COMM_NULL);
  use(comm);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Comm_create_group(MPI_COMM_WORLD, mine, 5, &comm));
  use(comm);
  OK(MPI_Comm_create_group(comm, mine, 5, &nested));
  use(nested);
  OK(MPI_Comm_free(&nested));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Group_free(&mine));
  MPI_Group all_but_first = world_size > 1 ? every(1, 1) : MPI_GROUP_EMPTY;
  OK(MPI_Comm_create(MPI_COMM_WORLD, world_rank ? all_but_first : MPI_GROUP_EMPTY, &comm));
  CHECK((comm == MPI_COMM_NULL) == (world_rank == 0));
  if (world_rank) OK(MPI_Comm_free(&comm));
  /* only members take part: rank 0 does not call it */
  if (world_rank) {
    for (int i = 0; i < 5; ++i) {
      OK(MPI_Comm_create_group(MPI_COMM_WORLD, all_but_first, i % 2, &comm));
      use(comm);
      OK(MPI_Comm_free(&comm));
    }
  }
  if (world_size > 1) OK(MPI_Group_free(&all_but_first));
}

static void many(void) {
  for (int i = 0; i < 300; ++i) {
    MPI_Comm comm;
    OK(MPI_Comm_dup(i % 2 ? MPI_COMM_WORLD : MPI_COMM_SELF, &comm));
    if (i % 50 == 0) use(comm);
    OK(MPI_Comm_free(&comm));
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  duplicates();
  hints();
  memory_kinds();
  attributes();
  concurrent();
  splits();
  from_groups();
  many();
  return end();
}
