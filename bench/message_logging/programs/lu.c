/* LU: symmetric successive over-relaxation. Ranks on a grid of columns; every plane of a sweep waits for a line from the north and
   one from the west and sends one south and one east (small messages, from any source); then the halo of the next step.
   The digest is the same for every number of ranks.

     lu [--size N] [--steps S] [--named]    ranks: a power of two */
#include "kernels.h"

enum { V = 5 }; /* unknowns a point */

static int nx, ny, nz, grid[2], at[2];
static double *u, *rhs;

static double* point_of(double* field, int i, int j, int k) { return field + (((long)k * (ny + 2) + j) * (nx + 2) + i) * V; }

/* The rank at a distance on the grid; MPI_PROC_NULL past its edges. */
static int neighbour(int dx, int dy) {
  const int x = at[0] + dx, y = at[1] + dy;
  return x < 0 || y < 0 || x >= grid[0] || y >= grid[1] ? MPI_PROC_NULL : y * grid[0] + x;
}

static void receive(double* line, int count, int source, int tag) {
  if (source == MPI_PROC_NULL) return;
  MPI_Recv(line, count, MPI_DOUBLE, from(source), tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void pack_column(double* field, int i, int k, double* line) {
  for (int j = 1; j <= ny; ++j) memcpy(line + (j - 1) * V, point_of(field, i, j, k), V * sizeof(double));
}

static void unpack_column(double* field, int i, int k, const double* line) {
  for (int j = 1; j <= ny; ++j) memcpy(point_of(field, i, j, k), line + (j - 1) * V, V * sizeof(double));
}

/* t += M p, where M couples the unknowns of a point with those of the one before it on an axis. */
static void couple(const double* p, double* t) {
  for (int v = 0; v < V; ++v) {
    for (int w = 0; w < V; ++w) t[v] += ((v == w ? 0.15 : 0) + 0.01 * p[(v + w) % V]) * p[w];
  }
}

/* t becomes the solution of D x = t; D, from the values at the point, is dominated by its diagonal. */
static void solve(const double* here, double* t) {
  double d[V][V];
  for (int v = 0; v < V; ++v) {
    for (int w = 0; w < V; ++w) d[v][w] = (v == w ? 1.1 : 0) + 0.02 * here[v] * here[w];
  }
  for (int k = 0; k < V; ++k) {
    const double pivot = 1 / d[k][k];
    for (int v = k + 1; v < V; ++v) {
      const double factor = d[v][k] * pivot;
      for (int w = k + 1; w < V; ++w) d[v][w] -= factor * d[k][w];
      t[v] -= factor * t[k];
    }
  }
  for (int k = V - 1; k >= 0; --k) {
    for (int w = k + 1; w < V; ++w) t[k] -= d[k][w] * t[w];
    t[k] /= d[k][k];
  }
}

/* New values of a plane from those before them in the direction of the sweep. At each point a system of five equations is set up and solved, as in
   the benchmark: some 900 operations a point and step, of its 1900. */
static void relax(int k, int d) {
  const int i0 = d > 0 ? 1 : nx, j0 = d > 0 ? 1 : ny;
  for (int j = j0; j >= 1 && j <= ny; j += d) {
    for (int i = i0; i >= 1 && i <= nx; i += d) {
      double *here = point_of(u, i, j, k), t[V];
      const double* r = point_of(rhs, i, j, k);
      for (int v = 0; v < V; ++v) t[v] = 0.3 * here[v] + 0.01 * r[v];
      couple(point_of(u, i - d, j, k), t);
      couple(point_of(u, i, j - d, k), t);
      couple(point_of(u, i, j, k - d), t);
      solve(here, t);
      memcpy(here, t, sizeof t);
    }
  }
}

/* d: 1 from the low corner, -1 from the high one. */
static void sweep(int d, double* line) {
  const int west = neighbour(-d, 0), east = neighbour(d, 0), north = neighbour(0, -d), south = neighbour(0, d);
  const int along_y = 2 + d, along_x = 3 + d; /* tags: one a direction, since nothing else tells who sends */
  const int first_x = d > 0 ? 0 : nx + 1, last_x = d > 0 ? nx : 1, first_y = d > 0 ? 0 : ny + 1, last_y = d > 0 ? ny : 1;
  for (int k = d > 0 ? 1 : nz; k >= 1 && k <= nz; k += d) {
    receive(point_of(u, 1, first_y, k), nx * V, north, along_y);
    receive(line, ny * V, west, along_x);
    if (west != MPI_PROC_NULL) unpack_column(u, first_x, k, line);
    relax(k, d);
    if (south != MPI_PROC_NULL) MPI_Send(point_of(u, 1, last_y, k), nx * V, MPI_DOUBLE, south, along_y, MPI_COMM_WORLD);
    if (east == MPI_PROC_NULL) continue;
    pack_column(u, last_x, k, line);
    MPI_Send(line, ny * V, MPI_DOUBLE, east, along_x, MPI_COMM_WORLD);
  }
}

/* One direction of the halo: all planes in one message. */
static void halo(int dx, int dy, double* out, double* in) {
  const int to = neighbour(dx, dy), source = neighbour(-dx, -dy), line = (dx ? ny : nx) * V;
  const int last = dx + dy > 0 ? (dx ? nx : ny) : 1, ghost = dx + dy > 0 ? 0 : (dx ? nx : ny) + 1;
  const int tag = 7 + 2 * dx + dy;
  MPI_Request request = MPI_REQUEST_NULL;
  if (source != MPI_PROC_NULL) MPI_Irecv(in, line * nz, MPI_DOUBLE, from(source), tag, MPI_COMM_WORLD, &request);
  for (int k = 1; k <= nz && to != MPI_PROC_NULL; ++k) {
    if (dx) pack_column(u, last, k, out + (long)(k - 1) * line);
    else memcpy(out + (long)(k - 1) * line, point_of(u, 1, last, k), (size_t)line * sizeof(double));
  }
  if (to != MPI_PROC_NULL) MPI_Send(out, line * nz, MPI_DOUBLE, to, tag, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int k = 1; k <= nz && source != MPI_PROC_NULL; ++k) {
    if (dx) unpack_column(u, ghost, k, in + (long)(k - 1) * line);
    else memcpy(point_of(u, 1, ghost, k), in + (long)(k - 1) * line, (size_t)line * sizeof(double));
  }
}

static void right_side(void) {
  for (int k = 1; k <= nz; ++k) {
    for (int j = 1; j <= ny; ++j) {
      for (int i = 1; i <= nx; ++i) {
        double* r = point_of(rhs, i, j, k);
        for (int v = 0; v < V; ++v) {
          r[v] = point_of(u, i - 1, j, k)[v] + point_of(u, i + 1, j, k)[v] + point_of(u, i, j - 1, k)[v] +
                 point_of(u, i, j + 1, k)[v] - 4 * point_of(u, i, j, k)[v];
        }
      }
    }
  }
}

static long place_of(int i, int j, int k) {
  return (((long)k * ny * grid[1] + at[1] * ny + j) * nx * grid[0] + at[0] * nx + i) * V;
}

int main(int argc, char** argv) {
  begin_kernel(&argc, &argv);
  const int size = (int)option_long(argc, argv, "--size", 48, 2), steps = (int)option_long(argc, argv, "--steps", 20, 1);
  split(ranks, 2, grid);
  at[0] = rank % grid[0], at[1] = rank / grid[0];
  nx = share(size, grid[0]), ny = share(size, grid[1]), nz = size;
  const long all = (long)(nx + 2) * (ny + 2) * (nz + 2) * V, face = (long)(nx > ny ? nx : ny) * nz * V;
  u = doubles(all), rhs = doubles(all);
  double *out = doubles(face), *in = doubles(face);
  for (int k = 1; k <= nz; ++k)
    for (int j = 1; j <= ny; ++j)
      for (int i = 1; i <= nx; ++i)
        for (int v = 0; v < V; ++v) point_of(u, i, j, k)[v] = uniform_at(1, (uint64_t)(place_of(i, j, k) + v));
  start_clock();
  for (int s = 0; s < steps; ++s) {
    halo(1, 0, out, in), halo(-1, 0, out, in), halo(0, 1, out, in), halo(0, -1, out, in);
    right_side();
    sweep(1, out), sweep(-1, out);
  }
  uint64_t parts = 0;
  for (int k = 1; k <= nz; ++k)
    for (int j = 1; j <= ny; ++j)
      for (int i = 1; i <= nx; ++i)
        for (int v = 0; v < V; ++v) parts += part(place_of(i, j, k) + v, point_of(u, i, j, k)[v]);
  end_kernel(parts);
  return 0;
}
