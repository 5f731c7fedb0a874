/* Allgather, allgatherv, alltoall, alltoallv, alltoallw: all lengths, MPI_IN_PLACE, types with gaps on either side. */
#include "coll.h"

static int rank, size;

static void gather_all(MPI_Comm comm, int n, int send_gaps, int recv_gaps, int in_place) {
  int ss, rs;
  MPI_Datatype st = layout(send_gaps, &ss), rt = layout(recv_gaps, &rs);
  int *one = blank(n, ss), *all = blank(n * size, rs);
  put(one, n, ss, rank, 3);
  if (in_place) put(all + (size_t)rank * n * rs, n, rs, rank, 3);
  if (in_place) COLLECTIVE(Allgather, Iallgather, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, n, rt, comm);
  else COLLECTIVE(Allgather, Iallgather, one, n, st, all, n, rt, comm);
  for (int i = 0; i < size; ++i) CHECK_BLOCK(all + (size_t)i * n * rs, n, rs, i, 3);
  free(all);

  int total = 0, *counts = malloc(sizeof(int) * size), *displs = malloc(sizeof(int) * size);
  for (int i = size - 1; i >= 0; --i) {
    counts[i] = i % 3 == 1 ? 0 : n * (i + 1) / size;
    displs[i] = total;
    total += counts[i] + 1;
  }
  all = blank(total, rs);
  if (in_place) put(all + (size_t)displs[rank] * rs, counts[rank], rs, rank, 3);
  if (in_place) COLLECTIVE(Allgatherv, Iallgatherv, MPI_IN_PLACE, 0, MPI_INT, all, counts, displs, rt, comm);
  else COLLECTIVE(Allgatherv, Iallgatherv, one, counts[rank], st, all, counts, displs, rt, comm);
  for (int i = 0; i < size; ++i) {
    CHECK_BLOCK(all + (size_t)displs[i] * rs, counts[i], rs, i, 3);
    CHECK_INT(-1, all[(size_t)(displs[i] + counts[i]) * rs]);
  }
  free(all);
  free(one);
  free(counts);
  free(displs);
}

static void all_to_all(MPI_Comm comm, int n, int send_gaps, int recv_gaps, int in_place) {
  int ss, rs;
  MPI_Datatype st = layout(send_gaps, &ss), rt = layout(recv_gaps, &rs);
  int *out = blank(n * size, ss), *in = blank(n * size, rs);
  for (int i = 0; i < size; ++i) {
    put(out + (size_t)i * n * ss, n, ss, rank, i);
    if (in_place) put(in + (size_t)i * n * rs, n, rs, rank, i);
  }
  if (in_place) COLLECTIVE(Alltoall, Ialltoall, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, in, n, rt, comm);
  else COLLECTIVE(Alltoall, Ialltoall, out, n, st, in, n, rt, comm);
  for (int i = 0; i < size; ++i) CHECK_BLOCK(in + (size_t)i * n * rs, n, rs, i, rank);
  free(out);
  free(in);
}

/* From a to b go length(a, b, n) elements; with MPI_IN_PLACE both directions are of one length. */
static int length(int a, int b, int n, int symmetric) {
  if (symmetric && a > b) return length(b, a, n, 0);
  return (a * 5 + b * 3) % 4 == 0 ? 0 : n * ((a + 2 * b) % 3 + 1) / 3;
}

static void vectors(MPI_Comm comm, int n, int send_gaps, int recv_gaps, int in_place) {
  int ss, rs, *a = malloc(sizeof(int) * size * 4), *sc = a, *sd = a + size, *rc = a + 2 * size, *rd = a + 3 * size;
  MPI_Datatype st = layout(send_gaps, &ss), rt = layout(recv_gaps, &rs);
  int sent = 0, received = 0;
  for (int i = 0; i < size; ++i) {
    sc[i] = length(rank, i, n, in_place);
    rc[i] = length(i, rank, n, in_place);
    sd[i] = sent;
    rd[size - 1 - i] = 0;
    sent += sc[i] + 1;
  }
  for (int i = size - 1; i >= 0; --i) {
    rd[i] = received;
    received += rc[i] + 1;
  }
  for (int w = 0; w < 2; ++w) {
    int *out = blank(sent, ss), *in = blank(received, rs);
    for (int i = 0; i < size; ++i) {
      put(out + (size_t)sd[i] * ss, sc[i], ss, rank, i);
      if (in_place) put(in + (size_t)rd[i] * rs, rc[i], rs, rank, i);
    }
    if (!w) {
      if (in_place) COLLECTIVE(Alltoallv, Ialltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in, rc, rd, rt, comm);
      else COLLECTIVE(Alltoallv, Ialltoallv, out, sc, sd, st, in, rc, rd, rt, comm);
    } else { /* the same, with displacements in bytes and a type for each rank */
      MPI_Datatype *sts = malloc(sizeof(MPI_Datatype) * size), *rts = malloc(sizeof(MPI_Datatype) * size);
      int *sdb = malloc(sizeof(int) * size), *rdb = malloc(sizeof(int) * size);
      for (int i = 0; i < size; ++i) {
        sts[i] = sc[i] ? st : MPI_DATATYPE_NULL; /* not significant where the count is 0 */
        rts[i] = rc[i] ? rt : MPI_DATATYPE_NULL;
        sdb[i] = sd[i] * ss * (int)sizeof(int);
        rdb[i] = rd[i] * rs * (int)sizeof(int);
      }
      if (in_place) COLLECTIVE(Alltoallw, Ialltoallw, MPI_IN_PLACE, NULL, NULL, NULL, in, rc, rdb, rts, comm);
      else COLLECTIVE(Alltoallw, Ialltoallw, out, sc, sdb, sts, in, rc, rdb, rts, comm);
      free(sts);
      free(rts);
      free(sdb);
      free(rdb);
    }
    for (int i = 0; i < size; ++i) {
      CHECK_BLOCK(in + (size_t)rd[i] * rs, rc[i], rs, i, rank);
      CHECK_INT(-1, in[(size_t)(rd[i] + rc[i]) * rs]);
    }
    free(out);
    free(in);
  }
  free(a);
}

/* MPI_BOTTOM with addresses as displacements, which only the large-count forms have room for. */
static void from_bottom(MPI_Comm comm) {
  MPI_Count *counts = malloc(sizeof(MPI_Count) * size * 2), *bytes = counts + size;
  MPI_Aint *sd = malloc(sizeof(MPI_Aint) * size * 2), *rd = sd + size;
  MPI_Datatype* types = malloc(sizeof(MPI_Datatype) * size);
  int *out = malloc(sizeof(int) * size), *in = malloc(sizeof(int) * size);
  for (int i = 0; i < size; ++i) {
    out[i] = value(rank, i, 0);
    counts[i] = 1;
    bytes[i] = sizeof(int);
    MPI_Get_address(&out[i], &sd[i]);
    MPI_Get_address(&in[i], &rd[i]);
    types[i] = MPI_INT;
  }
  for (int v = 0; v < 2; ++v) {
    for (int i = 0; i < size; ++i) in[i] = -1;
    if (v) OK(MPI_Alltoallv_c(MPI_BOTTOM, bytes, sd, MPI_BYTE, MPI_BOTTOM, bytes, rd, MPI_BYTE, comm));
    else OK(MPI_Alltoallw_c(MPI_BOTTOM, counts, sd, types, MPI_BOTTOM, counts, rd, types, comm));
    for (int i = 0; i < size; ++i) CHECK_INT(value(i, rank, 0), in[i]);
  }
  free(counts);
  free(sd);
  free(types);
  free(out);
  free(in);
}

static void all(MPI_Comm comm) {
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  from_bottom(comm);
  for (int s = 0; s < N_SIZES; ++s) {
    for (int kind = 0; kind < 8; ++kind) {
      int n = sizes[s];
      gather_all(comm, n, kind & 1, kind & 2, kind & 4);
      all_to_all(comm, n, kind & 1, kind & 2, kind & 4);
      vectors(comm, n, kind & 1, kind & 2, kind & 4);
    }
  }
  MPI_Count counts[64];
  MPI_Aint displs[64];
  int out[64], in[64];
  for (int i = 0; i < size; ++i) counts[i] = 1, displs[i] = size - 1 - i, out[size - 1 - i] = rank * 64 + i;
  OK(MPI_Alltoallv_c(out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, comm));
  for (int i = 0; i < size; ++i) CHECK_INT(i * 64 + rank, in[size - 1 - i]);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  on_communicators(all);
  return end();
}
