/* Wrong arguments are found where they are, with the right class, and nothing hangs. */
#include "coll.h"

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm comm, made;
  MPI_Request request;
  MPI_Datatype raw;
  MPI_Group world;
  int in[64] = {0}, out[64] = {0}, counts[64], displs[64], size;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)); /* where errors without a communicator go */
  FAILS(MPI_ERR_ROOT, MPI_Bcast(out, 1, MPI_INT, world_size, comm));
  FAILS(MPI_ERR_ROOT, MPI_Bcast(out, 1, MPI_INT, -7, comm));
  FAILS(MPI_ERR_COUNT, MPI_Bcast(out, -1, MPI_INT, 0, comm));
  FAILS(MPI_ERR_TYPE, MPI_Bcast(out, 1, MPI_DATATYPE_NULL, 0, comm));
  FAILS(MPI_ERR_ROOT, MPI_Ibcast(out, 1, MPI_INT, world_size, comm, &request));
  FAILS(MPI_ERR_ROOT, MPI_Gather(out, 1, MPI_INT, in, 1, MPI_INT, world_size, comm));
  FAILS(MPI_ERR_COUNT, MPI_Allgather(out, -1, MPI_INT, in, 1, MPI_INT, comm));
  FAILS(MPI_ERR_COUNT, MPI_Alltoall(out, 1, MPI_INT, in, -1, MPI_INT, comm));
  for (int i = 0; i < world_size; ++i) counts[i] = displs[i] = i;
  counts[0] = world_size == 1;
  FAILS(MPI_ERR_BUFFER, MPI_Alltoall(NULL, 1, MPI_INT, in, 1, MPI_INT, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Alltoallv(NULL, counts, displs, MPI_INT, in, counts, displs, MPI_INT, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Alltoall(in, 1, MPI_INT, in, 1, MPI_INT, comm)); /* one buffer for both */
  OK(MPI_Alltoall(in, 0, MPI_INT, in, 0, MPI_INT, comm));
  if (world_rank > 0) FAILS(MPI_ERR_BUFFER, MPI_Allgather(in, 1, MPI_INT, in, 1, MPI_INT, comm));
  FAILS(MPI_ERR_BUFFER, MPI_Reduce_local(MPI_IN_PLACE, in, 1, MPI_INT, MPI_SUM));
  FAILS(MPI_ERR_BUFFER, MPI_Reduce_local(out, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM));
  FAILS(MPI_ERR_OP, MPI_Allreduce(out, in, 1, MPI_INT, MPI_OP_NULL, comm));
  FAILS(MPI_ERR_OP, MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_BAND, comm));
  FAILS(MPI_ERR_OP, MPI_Reduce(out, in, 1, MPI_INT, MPI_MAXLOC, 0, comm));
  FAILS(MPI_ERR_ROOT, MPI_Reduce(out, in, 1, MPI_INT, MPI_SUM, -1, comm));
  FAILS(MPI_ERR_COUNT, MPI_Scan(out, in, -3, MPI_INT, MPI_SUM, comm));
  OK(MPI_Type_contiguous(2, MPI_INT, &raw));
  FAILS(MPI_ERR_TYPE, MPI_Bcast(out, 1, raw, 0, comm)); /* not committed */
  OK(MPI_Type_free(&raw));
  FAILS(MPI_ERR_COMM, MPI_Barrier(MPI_COMM_NULL));
  FAILS(MPI_ERR_ARG, MPI_Comm_split(comm, -5, 0, &made));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  if (world_size > 1) FAILS(MPI_ERR_GROUP, MPI_Comm_create(MPI_COMM_SELF, world, &made));
  FAILS(MPI_ERR_COMM, MPI_Comm_remote_size(comm, &size));
  OK(MPI_Group_free(&world));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  made = MPI_COMM_WORLD;
  FAILS(MPI_ERR_COMM, MPI_Comm_free(&made));
  /* after all of that the communicator still works */
  int one = 1, sum = 0;
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK_INT(world_size, sum);
  OK(MPI_Comm_free(&comm));
  return end();
}
