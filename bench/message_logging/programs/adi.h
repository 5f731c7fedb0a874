/* What BT and SP share: the cube in q x q x q cells over q x q ranks so that every rank has one cell in each layer along each axis
   (multipartition), and both neighbours of all its cells along an axis are the same two ranks. Faces go to all six neighbours by
   Isend, Irecv and Waitall; a sweep along an axis goes from cell to cell, and in each stage all ranks have one to do. */
#ifndef ADI_H
#define ADI_H

#include "kernels.h"

enum { V = 5, CELLS_MAX = 16 };

static int q, edge, mine[2]; /* cells along an axis; points along a cell's axis; the rank's place on q x q */
static double *u[CELLS_MAX], *rhs[CELLS_MAX]; /* by the layer of the cell along the third axis; u with a halo of one */

static inline double* u_at(int c, int i, int j, int k) { return u[c] + (((long)k * (edge + 2) + j) * (edge + 2) + i) * V; }
static inline double* rhs_at(int c, int i, int j, int k) { return rhs[c] + (((long)k * edge + j) * edge + i) * V; }

/* Where cell c of this rank is along an axis. */
static inline int layer(int c, int axis) { return axis == 2 ? c : (mine[axis] + c) % q; }

/* The cell of this rank in a layer of an axis. */
static inline int cell_in(int at_layer, int axis) { return axis == 2 ? at_layer : (at_layer - mine[axis] + q) % q; }

/* The rank that has the next cell along an axis, for all cells of this rank. */
static inline int next(int axis, int step) {
  const int x = axis == 1 ? 0 : axis == 0 ? step : -step, y = axis == 0 ? 0 : axis == 1 ? step : -step;
  return (mine[1] + y + q) % q * q + (mine[0] + x + q) % q;
}

/* The n-th point of a face across an axis. */
static inline void place_on(int axis, int n, int depth, int* p) {
  p[axis] = depth;
  p[axis == 0] = n % edge;
  p[axis == 2 ? 1 : 2] = n / edge;
}

static inline void faces(int axis, int depth, double* buffer, int packs) {
  for (int c = 0; c < q; ++c) {
    for (int n = 0; n < edge * edge; ++n, buffer += V) {
      int p[3];
      place_on(axis, n, depth, p);
      double* point = u_at(c, p[0] + (axis != 0), p[1] + (axis != 1), p[2] + (axis != 2));
      if (packs) memcpy(buffer, point, V * sizeof(double));
      else memcpy(point, buffer, V * sizeof(double));
    }
  }
}

/* The cell beyond a face is the neighbour's next one, periodic: those of the last layer go round. Which cell of the receiver a face
   belongs to follows from the layer: along the third axis its number is one higher or lower, else the same. */
static inline void sort_faces(int axis, int step, double* buffer, double* sorted) {
  const long face = (long)edge * edge * V;
  for (int c = 0; c < q; ++c) {
    const int sent_as = axis == 2 ? (c - step + q) % q : c;
    memcpy(sorted + c * face, buffer + sent_as * face, (size_t)face * sizeof(double));
  }
}

static inline void copy_faces(void) {
  static double *out[6], *in[6], *sorted;
  const int count = q * edge * edge * V;
  MPI_Request requests[12];
  for (int f = 0; f < 6 && !out[5]; ++f) out[f] = doubles(count), in[f] = doubles(count);
  if (!sorted) sorted = doubles(count);
  for (int f = 0; f < 6; ++f) {
    const int step = f % 2 ? 1 : -1; /* f: goes that way along axis f / 2 */
    MPI_Irecv(in[f], count, MPI_DOUBLE, next(f / 2, -step), f, MPI_COMM_WORLD, &requests[f]);
  }
  for (int f = 0; f < 6; ++f) {
    faces(f / 2, f % 2 ? edge : 1, out[f], 1);
    MPI_Isend(out[f], count, MPI_DOUBLE, next(f / 2, f % 2 ? 1 : -1), f, MPI_COMM_WORLD, &requests[6 + f]);
  }
  MPI_Waitall(12, requests, MPI_STATUSES_IGNORE);
  for (int f = 0; f < 6; ++f) {
    sort_faces(f / 2, f % 2 ? 1 : -1, in[f], sorted);
    faces(f / 2, f % 2 ? 0 : edge + 1, sorted, 0);
  }
}

static inline void right_side(void) {
  const long x = V, y = x * (edge + 2), z = y * (edge + 2);
  copy_faces();
  for (int c = 0; c < q; ++c) {
    for (int k = 0; k < edge; ++k) {
      for (int j = 0; j < edge; ++j) {
        for (int i = 0; i < edge; ++i) {
          double* r = rhs_at(c, i, j, k);
          const double* p = u_at(c, i + 1, j + 1, k + 1);
          for (int v = 0; v < V; ++v, ++p) r[v] = 0.1 * (p[-x] + p[x] + p[-y] + p[y] + p[-z] + p[z] - 6 * p[0]);
        }
      }
    }
  }
}

/* One stage of a sweep over a line of points: `carried` comes from the cell before and goes to the next. */
typedef void LineStage(int c, int axis, const int* p, double* carried);

/* Over all lines of all cells along an axis, upwards or downwards. */
static inline void sweep(int axis, int step, LineStage* stage, int carries, int tag) {
  const int count = edge * edge * carries;
  double *carried = doubles(count), *leaving = doubles(count);
  MPI_Request sent = MPI_REQUEST_NULL;
  for (int s = 0; s < q; ++s) {
    const int at_layer = step > 0 ? s : q - 1 - s, c = cell_in(at_layer, axis);
    if (s > 0) MPI_Recv(carried, count, MPI_DOUBLE, next(axis, -step), tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int n = 0; n < edge * edge; ++n) {
      int p[3];
      place_on(axis, n, 0, p);
      stage(c, axis, p, carried + (long)n * carries);
    }
    if (s + 1 == q) break;
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    memcpy(leaving, carried, (size_t)count * sizeof(double));
    MPI_Isend(leaving, count, MPI_DOUBLE, next(axis, step), tag, MPI_COMM_WORLD, &sent);
  }
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  free(carried), free(leaving);
}

static inline void add(void) {
  for (int c = 0; c < q; ++c)
    for (int k = 0; k < edge; ++k)
      for (int j = 0; j < edge; ++j)
        for (int i = 0; i < edge; ++i)
          for (int v = 0; v < V; ++v) u_at(c, i + 1, j + 1, k + 1)[v] += rhs_at(c, i, j, k)[v];
}

static inline long place_of(int c, int i, int j, int k) {
  const long n = (long)q * edge;
  return (((long)layer(c, 2) * edge + k) * n + layer(c, 1) * edge + j) * n + layer(c, 0) * edge + i;
}

static inline void begin_adi(int argc, char** argv, int size) {
  for (q = 1; q * q < ranks; ++q) {
  }
  if (q * q != ranks || q > CELLS_MAX) fail(argv[0], "the number of ranks must be a square, at most 256");
  edge = share((int)option_long(argc, argv, "--size", size, 2), q);
  mine[0] = rank % q, mine[1] = rank / q;
  for (int c = 0; c < q; ++c) {
    u[c] = doubles((long)(edge + 2) * (edge + 2) * (edge + 2) * V), rhs[c] = doubles((long)edge * edge * edge * V);
    for (int k = 0; k < edge; ++k)
      for (int j = 0; j < edge; ++j)
        for (int i = 0; i < edge; ++i)
          for (int v = 0; v < V; ++v) u_at(c, i + 1, j + 1, k + 1)[v] = uniform_at(1, (uint64_t)(place_of(c, i, j, k) * V + v));
  }
}

static inline void end_adi(void) {
  uint64_t parts = 0;
  for (int c = 0; c < q; ++c)
    for (int k = 0; k < edge; ++k)
      for (int j = 0; j < edge; ++j)
        for (int i = 0; i < edge; ++i)
          for (int v = 0; v < V; ++v) parts += part(place_of(c, i, j, k) * V + v, u_at(c, i + 1, j + 1, k + 1)[v]);
  end_kernel(parts);
}

#endif
