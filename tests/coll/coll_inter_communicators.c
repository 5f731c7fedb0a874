/* Communicators made of intercommunicators, and what intercommunicators carry. */
#include "../mpi/inter.h"
#include "coll.h"

/* It works and is apart from others: a message and a reduction over each group. */
static void use(MPI_Comm inter) {
  int rank, size, remote_size, sum = -1, got = -1, one = 1;
  OK(MPI_Comm_rank(inter, &rank));
  OK(MPI_Comm_size(inter, &size));
  OK(MPI_Comm_remote_size(inter, &remote_size));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter));
  CHECK_INT(remote_size, sum);
  if (rank >= remote_size) return;
  OK(MPI_Sendrecv(&world_rank, 1, MPI_INT, rank, 1, &got, 1, MPI_INT, rank, 1, inter, MPI_STATUS_IGNORE));
  CHECK_INT(world_of_remote(inter, rank), got);
}

static int compare(MPI_Comm a, MPI_Comm b) {
  int result;
  OK(MPI_Comm_compare(a, b, &result));
  return result;
}

static int is_inter(MPI_Comm comm) {
  int flag;
  OK(MPI_Comm_test_inter(comm, &flag));
  return flag;
}

static int copy_attribute(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)keyval, (void)extra;
  CHECK(is_inter(comm));
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}

static void duplicates(MPI_Comm inter) {
  MPI_Comm copies[5], merged;
  MPI_Request requests[3];
  MPI_Info info;
  char text[MPI_MAX_OBJECT_NAME], *found;
  int keyval, flag, length;
  OK(MPI_Comm_set_name(inter, "two groups"));
  OK(MPI_Comm_get_name(inter, text, &length));
  CHECK(strcmp(text, "two groups") == 0);
  OK(MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &keyval, NULL));
  OK(MPI_Comm_set_attr(inter, keyval, (void*)100));
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  OK(MPI_Comm_dup(inter, &copies[0]));
  OK(MPI_Comm_dup_with_info(inter, info, &copies[1]));
  OK(MPI_Comm_idup(inter, &copies[2], &requests[0]));
  OK(MPI_Comm_idup_with_info(inter, info, &copies[3], &requests[1]));
  OK(MPI_Comm_idup(copies[0], &copies[4], &requests[2]));
  OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  OK(MPI_Intercomm_merge(inter, 0, &merged));
  CHECK_INT(MPI_UNEQUAL, compare(inter, merged));
  CHECK_INT(MPI_IDENT, compare(inter, inter));
  for (int i = 0; i < 5; ++i) {
    CHECK(is_inter(copies[i]));
    CHECK_INT(MPI_CONGRUENT, compare(inter, copies[i]));
    OK(MPI_Comm_get_attr(copies[i], keyval, &found, &flag));
    CHECK(flag && found == (char*)101 + (i == 4));
    OK(MPI_Comm_get_name(copies[i], text, &length));
    CHECK_INT(0, length);
    use(copies[i]);
    if (i == 2) OK(MPI_Comm_disconnect(&copies[i]));
    else OK(MPI_Comm_free(&copies[i]));
  }
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_free_keyval(&keyval));
  OK(MPI_Comm_free(&merged));
}

static void splits(MPI_Comm inter) {
  MPI_Comm part;
  int rank, size, remote_size, r, n, m;
  OK(MPI_Comm_rank(inter, &rank));
  OK(MPI_Comm_size(inter, &size));
  OK(MPI_Comm_remote_size(inter, &remote_size));
  OK(MPI_Comm_split(inter, 3, -rank, &part)); /* all, each group in reverse order */
  OK(MPI_Comm_rank(part, &r));
  CHECK_INT(size - 1 - rank, r);
  CHECK_INT(size > 1 || remote_size > 1 ? MPI_SIMILAR : MPI_CONGRUENT, compare(inter, part));
  use(part);
  OK(MPI_Comm_free(&part));
  OK(MPI_Comm_split(inter, rank, 0, &part)); /* pairs */
  CHECK((part == MPI_COMM_NULL) == (rank >= remote_size));
  if (part != MPI_COMM_NULL) {
    OK(MPI_Comm_size(part, &n));
    OK(MPI_Comm_remote_size(part, &m));
    CHECK(n == 1 && m == 1 && world_of_remote(part, 0) == world_of_remote(inter, rank));
    use(part);
    OK(MPI_Comm_free(&part));
  }
  OK(MPI_Comm_split(inter, rank % 2 ? MPI_UNDEFINED : 0, 0, &part)); /* those of even rank */
  CHECK((part == MPI_COMM_NULL) == (rank % 2 != 0));
  if (part != MPI_COMM_NULL) {
    OK(MPI_Comm_remote_size(part, &m));
    CHECK_INT((remote_size + 1) / 2, m);
    use(part);
    OK(MPI_Comm_free(&part));
  }
  OK(MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part));
  if (part != MPI_COMM_NULL) {
    use(part);
    OK(MPI_Comm_free(&part));
  }
  OK(MPI_Comm_split_type(inter, MPI_UNDEFINED, 0, MPI_INFO_NULL, &part));
  CHECK(part == MPI_COMM_NULL);
}

/* Of the local groups without their first, or only their last; of nobody on one side. */
static void from_groups(MPI_Comm inter) {
  MPI_Group local, some;
  MPI_Comm part;
  int rank, size, remote_size, n, m;
  OK(MPI_Comm_rank(inter, &rank));
  OK(MPI_Comm_size(inter, &size));
  OK(MPI_Comm_remote_size(inter, &remote_size));
  OK(MPI_Comm_group(inter, &local));
  OK(MPI_Group_excl(local, 1, (int[]){0}, &some));
  OK(MPI_Comm_create(inter, some, &part));
  CHECK((part != MPI_COMM_NULL) == (rank > 0 && remote_size > 1));
  if (part != MPI_COMM_NULL) {
    OK(MPI_Comm_rank(part, &n));
    OK(MPI_Comm_remote_size(part, &m));
    CHECK(n == rank - 1 && m == remote_size - 1 && world_of_remote(part, 0) == world_of_remote(inter, 1));
    use(part);
    OK(MPI_Comm_free(&part));
  }
  OK(MPI_Group_free(&some));
  OK(MPI_Group_incl(local, size > 1 ? 2 : 1, (int[]){size - 1, 0}, &some));
  OK(MPI_Comm_create(inter, some, &part));
  CHECK((part != MPI_COMM_NULL) == (rank == 0 || rank == size - 1));
  if (part != MPI_COMM_NULL) {
    CHECK_INT(world_of_remote(inter, remote_size - 1), world_of_remote(part, 0));
    use(part);
    OK(MPI_Comm_free(&part));
  }
  const int smaller = size < remote_size || (size == remote_size && world_rank < world_of_remote(inter, rank));
  OK(MPI_Comm_create(inter, smaller ? some : MPI_GROUP_EMPTY, &part));
  CHECK(part == MPI_COMM_NULL);
  OK(MPI_Group_free(&some));
  OK(MPI_Group_free(&local));
}

/* The leaders may find each other in an intercommunicator; sides of it become groups again. */
static void again(MPI_Comm inter) {
  MPI_Comm merged, local, next;
  OK(MPI_Intercomm_merge(inter, 0, &merged));
  MPI_Group group;
  OK(MPI_Comm_group(inter, &group));
  OK(MPI_Comm_create_group(merged, group, 3, &local));
  OK(MPI_Intercomm_create(local, 0, inter, 0, 4, &next));
  CHECK_INT(MPI_CONGRUENT, compare(inter, next));
  use(next);
  OK(MPI_Comm_free(&next));
  OK(MPI_Group_free(&group));
  OK(MPI_Comm_free(&local));
  OK(MPI_Comm_free(&merged));
}

/* Of groups alone; the processes outside of a group do not call it. */
static void without_parent(MPI_Comm inter) {
  MPI_Group local, remote, world, some;
  MPI_Comm comm, next;
  MPI_Info info;
  int rank, size, remote_size, sum, one = 1, flag, length = 8;
  char text[8] = "";
  OK(MPI_Comm_rank(inter, &rank));
  OK(MPI_Comm_size(inter, &size));
  OK(MPI_Comm_remote_size(inter, &remote_size));
  OK(MPI_Comm_group(inter, &local));
  OK(MPI_Comm_remote_group(inter, &remote));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_assert_exact_length", "true"));
  OK(MPI_Comm_create_from_group(local, "test:local", info, MPI_ERRORS_RETURN, &comm));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK_INT(size, sum);
  FAILS(MPI_ERR_RANK, MPI_Send(&one, 1, MPI_INT, size, 0, comm));
  OK(MPI_Comm_free(&comm));
  for (int i = 0; i < 3; ++i) { /* the same string again and again */
    if (world_rank == 0) break;
    OK(MPI_Group_excl(world, 1, (int[]){0}, &some));
    OK(MPI_Comm_create_from_group(some, "test:some", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_INT(world_size - 1, sum);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&some));
  }
  OK(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "test:nobody", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
  CHECK(comm == MPI_COMM_NULL);
  FAILS(MPI_ERR_GROUP, MPI_Comm_create_from_group(remote, "test:other", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  OK(MPI_Intercomm_create_from_groups(local, size / 2, rank == size / 2 ? remote : MPI_GROUP_NULL, remote_size / 2,
                                      "test:two", info, MPI_ERRORS_RETURN, &next));
  CHECK_INT(MPI_CONGRUENT, compare(inter, next));
  use(next);
  FAILS(MPI_ERR_RANK, MPI_Send(&one, 1, MPI_INT, remote_size, 0, next));
  MPI_Info kept;
  OK(MPI_Comm_get_info(next, &kept));
  OK(MPI_Info_get_string(kept, "mpi_assert_exact_length", &length, text, &flag));
  CHECK(flag && strcmp(text, "true") == 0);
  OK(MPI_Info_free(&kept));
  OK(MPI_Comm_free(&next));
  /* Nobody on the other side: whatever is not significant where the leader is another process is not looked at. */
  OK(MPI_Intercomm_create_from_groups(local, 0, rank == 0 ? MPI_GROUP_EMPTY : (MPI_Group)0x7777, 0, "test:nobody", MPI_INFO_NULL,
                                      MPI_ERRORS_RETURN, &next));
  CHECK(next == MPI_COMM_NULL);
  OK(MPI_Intercomm_create_from_groups(MPI_GROUP_EMPTY, 0, remote, 0, "test:nobody", MPI_INFO_NULL, MPI_ERRORS_RETURN, &next));
  CHECK(next == MPI_COMM_NULL);
#define TWO(leader, group, remote_leader) \
  MPI_Intercomm_create_from_groups(local, leader, group, remote_leader, "test:two", info, MPI_ERRORS_RETURN, &next)
  FAILS(MPI_ERR_RANK, TWO(size, remote, 0));
  FAILS(MPI_ERR_RANK, TWO(0, remote, remote_size));
  FAILS(MPI_ERR_GROUP, TWO(0, MPI_GROUP_NULL, 0));
  OK(MPI_Info_free(&info));
  OK(MPI_Group_free(&local));
  OK(MPI_Group_free(&remote));
  OK(MPI_Group_free(&world));
}

static void refused(MPI_Comm inter) {
  MPI_Comm made, local;
  MPI_Group group;
  int n;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
  OK(MPI_Comm_dup(MPI_COMM_SELF, &local));
  OK(MPI_Comm_set_errhandler(local, MPI_ERRORS_RETURN));
  OK(MPI_Comm_group(inter, &group));
  FAILS(MPI_ERR_COMM, MPI_Comm_create_group(inter, group, 0, &made));
  OK(MPI_Group_free(&group));
  OK(MPI_Comm_remote_group(inter, &group));
  FAILS(MPI_ERR_GROUP, MPI_Comm_create(inter, group, &made));
  OK(MPI_Group_free(&group));
  FAILS(MPI_ERR_COMM, MPI_Comm_remote_size(MPI_COMM_WORLD, &n));
  FAILS(MPI_ERR_COMM, MPI_Comm_remote_group(MPI_COMM_WORLD, &group));
  FAILS(MPI_ERR_COMM, MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &made));
  FAILS(MPI_ERR_COMM, MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 0, &made));
  FAILS(MPI_ERR_RANK, MPI_Intercomm_create(local, 1, MPI_COMM_WORLD, 0, 0, &made));
  FAILS(MPI_ERR_RANK, MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, world_size, 0, &made));
  FAILS(MPI_ERR_RANK, MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, world_rank, 0, &made));
  FAILS(MPI_ERR_TAG, MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, (world_rank + 1) % world_size, -1, &made));
  FAILS(MPI_ERR_COMM, MPI_Intercomm_create(local, 0, MPI_COMM_NULL, 0, 0, &made));
  /* the leader's mistake is known to all of its group */
  FAILS(MPI_ERR_RANK, MPI_Intercomm_create(MPI_COMM_WORLD, world_size - 1, MPI_COMM_WORLD, world_size, 0, &made));
  if (world_rank == 0) FAILS(MPI_ERR_RANK, MPI_Send(&n, 1, MPI_INT, world_size, 0, inter));
  OK(MPI_Comm_remote_size(inter, &n));
  FAILS(MPI_ERR_RANK, MPI_Send(&n, 1, MPI_INT, n, 0, inter));
  OK(MPI_Comm_free(&local));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  on_intercommunicators(duplicates);
  on_intercommunicators(splits);
  on_intercommunicators(from_groups);
  on_intercommunicators(again);
  on_intercommunicators(without_parent);
  on_intercommunicators(refused);
  return end();
}
