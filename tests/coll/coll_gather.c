/* Gather, gatherv, scatter, scatterv: all roots, all lengths, MPI_IN_PLACE, types with gaps on either side. */
#include "coll.h"

static int rank, size;

static void uniform(MPI_Comm comm, int root, int n, int send_gaps, int recv_gaps) {
  int ss, rs;
  MPI_Datatype st = layout(send_gaps, &ss), rt = layout(recv_gaps, &rs);
  int in_place = n % 2 && rank == root;
  int *one = blank(n, ss), *all = rank == root ? blank(n * size, rs) : NULL;
  put(one, n, ss, rank, root);
  if (in_place) put(all + (size_t)root * n * rs, n, rs, root, root);
  if (in_place) COLLECTIVE(Gather, Igather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, n, rt, root, comm);
  else if (rank == root) COLLECTIVE(Gather, Igather, one, n, st, all, n, rt, root, comm);
  else COLLECTIVE(Gather, Igather, one, n, st, NULL, -5, MPI_DATATYPE_NULL, root, comm);
  if (rank == root) {
    for (int i = 0; i < size; ++i) CHECK_BLOCK(all + (size_t)i * n * rs, n, rs, i, root);
    for (int i = 0; i < size; ++i) put(all + (size_t)i * n * rs, n, rs, root, i);
  }
  free(one);
  one = blank(n, ss);
  if (in_place) COLLECTIVE(Scatter, Iscatter, all, n, rt, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, comm);
  else if (rank == root) COLLECTIVE(Scatter, Iscatter, all, n, rt, one, n, st, root, comm);
  else COLLECTIVE(Scatter, Iscatter, NULL, -5, MPI_DATATYPE_NULL, one, n, st, root, comm);
  if (in_place) CHECK_BLOCK(all + (size_t)root * n * rs, n, rs, root, root);
  else CHECK_BLOCK(one, n, ss, root, rank);
  free(one);
  free(all);
}

/* Rank i's block has (i * 3 + n) % (n + 3) elements; the blocks lie in reverse order, with a hole between them. */
static void vectors(MPI_Comm comm, int root, int n, int send_gaps, int recv_gaps) {
  int ss, rs, total = 0, *counts = malloc(sizeof(int) * size), *displs = malloc(sizeof(int) * size);
  MPI_Datatype st = layout(send_gaps, &ss), rt = layout(recv_gaps, &rs);
  for (int i = size - 1; i >= 0; --i) {
    counts[i] = (i * 3 + n) % (n + 3);
    displs[i] = total;
    total += counts[i] + 2;
  }
  int mine = counts[rank], in_place = n % 2 == 0 && rank == root;
  int *one = blank(mine, ss), *all = rank == root ? blank(total, rs) : NULL;
  put(one, mine, ss, rank, root);
  if (in_place) put(all + (size_t)displs[root] * rs, mine, rs, root, root);
  if (in_place) COLLECTIVE(Gatherv, Igatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, displs, rt, root, comm);
  else if (rank == root) COLLECTIVE(Gatherv, Igatherv, one, mine, st, all, counts, displs, rt, root, comm);
  else COLLECTIVE(Gatherv, Igatherv, one, mine, st, NULL, NULL, NULL, MPI_DATATYPE_NULL, root, comm);
  if (rank == root) {
    for (int i = 0; i < size; ++i) {
      CHECK_BLOCK(all + (size_t)displs[i] * rs, counts[i], rs, i, root);
      CHECK_INT(-1, all[(size_t)(displs[i] + counts[i]) * rs]);
      put(all + (size_t)displs[i] * rs, counts[i], rs, root, i);
    }
  }
  free(one);
  one = blank(mine, ss);
  if (in_place) COLLECTIVE(Scatterv, Iscatterv, all, counts, displs, rt, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, comm);
  else if (rank == root) COLLECTIVE(Scatterv, Iscatterv, all, counts, displs, rt, one, mine, st, root, comm);
  else COLLECTIVE(Scatterv, Iscatterv, NULL, NULL, NULL, MPI_DATATYPE_NULL, one, mine, st, root, comm);
  if (!in_place) CHECK_BLOCK(one, mine, ss, root, rank);
  free(one);
  free(all);
  free(counts);
  free(displs);
}

static void all(MPI_Comm comm) {
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  for (int root = 0; root < size; ++root) {
    for (int s = 0; s < N_SIZES; ++s) {
      uniform(comm, root, sizes[s], 0, 0);
      uniform(comm, root, sizes[s], 1, 0);
      uniform(comm, root, sizes[s], 0, 1);
      uniform(comm, root, sizes[s], 1, 1);
      vectors(comm, root, sizes[s], 0, 0);
      vectors(comm, root, sizes[s], 1, 1);
    }
  }
  MPI_Count counts[64];
  MPI_Aint displs[64];
  int out = rank + 3, in[64];
  for (int i = 0; i < size; ++i) counts[i] = 1, displs[i] = size - 1 - i;
  OK(MPI_Gatherv_c(&out, 1, MPI_INT, in, counts, displs, MPI_INT, 0, comm));
  for (int i = 0; rank == 0 && i < size; ++i) CHECK_INT(i + 3, in[size - 1 - i]);
  out = 0;
  OK(MPI_Scatterv_c(in, counts, displs, MPI_INT, &out, 1, MPI_INT, 0, comm));
  CHECK_INT(rank + 3, out);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  on_communicators(all);
  return end();
}
