/* MG: a multigrid V-cycle on a periodic cube. Ranks on a grid of three axes; before each smoothing the faces go to both neighbours on
   each axis, the receives posted first and from any source. The digest is the same for every number of ranks that leaves as many levels.

     mg [--size N] [--steps S] [--levels L] [--named]    ranks: a power of two */
#include "kernels.h"

enum { LEVELS_MAX = 16 };

typedef struct {
  int n[3];
  double *u, *f, *r; /* solution, right side, residual; with a halo of one */
} Level;

static int grid[3], at[3];
static double *out[2], *in[2];

static long index_of(const Level* l, int i, int j, int k) { return ((long)k * (l->n[1] + 2) + j) * (l->n[0] + 2) + i; }

static int neighbour(int axis, int step) {
  int p[3] = {at[0], at[1], at[2]};
  p[axis] = (p[axis] + step + grid[axis]) % grid[axis];
  return (p[2] * grid[1] + p[1]) * grid[0] + p[0];
}

/* Copies the layer `at_layer` across an axis to or from a buffer; later axes take the ghosts of earlier ones along. */
static void face(const Level* l, double* field, int axis, int layer, double* buffer, int packs) {
  const int a = axis == 0, b = axis == 2 ? 1 : 2;
  for (int y = 0; y < l->n[b] + 2; ++y) {
    for (int x = 0; x < l->n[a] + 2; ++x) {
      int p[3];
      p[axis] = layer, p[a] = x, p[b] = y;
      double* value = field + index_of(l, p[0], p[1], p[2]);
      if (packs) *buffer++ = *value;
      else *value = *buffer++;
    }
  }
}

static void exchange(const Level* l, double* field) {
  for (int axis = 0; axis < 3; ++axis) {
    const int a = axis == 0, b = axis == 2 ? 1 : 2, count = (l->n[a] + 2) * (l->n[b] + 2), n = l->n[axis];
    const int low = neighbour(axis, -1), high = neighbour(axis, 1);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (grid[axis] > 1) {
      MPI_Irecv(in[0], count, MPI_DOUBLE, from(low), 2 * axis, MPI_COMM_WORLD, &requests[0]);
      MPI_Irecv(in[1], count, MPI_DOUBLE, from(high), 2 * axis + 1, MPI_COMM_WORLD, &requests[1]);
    }
    face(l, field, axis, n, out[0], 1);
    face(l, field, axis, 1, out[1], 1);
    if (grid[axis] > 1) {
      MPI_Send(out[0], count, MPI_DOUBLE, high, 2 * axis, MPI_COMM_WORLD);
      MPI_Send(out[1], count, MPI_DOUBLE, low, 2 * axis + 1, MPI_COMM_WORLD);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    }
    face(l, field, axis, 0, grid[axis] > 1 ? in[0] : out[0], 0);
    face(l, field, axis, n + 1, grid[axis] > 1 ? in[1] : out[1], 0);
  }
}

static void residual(Level* l) {
  const long y = l->n[0] + 2, z = y * (l->n[1] + 2);
  exchange(l, l->u);
  for (int k = 1; k <= l->n[2]; ++k) {
    for (int j = 1; j <= l->n[1]; ++j) {
      for (int i = 1; i <= l->n[0]; ++i) {
        const double* u = l->u + index_of(l, i, j, k);
        const double around = u[-1] + u[1] + u[-y] + u[y] + u[-z] + u[z];
        l->r[u - l->u] = l->f[u - l->u] - (6 * u[0] - around);
      }
    }
  }
}

static void smooth(Level* l) {
  residual(l);
  for (int k = 1; k <= l->n[2]; ++k)
    for (int j = 1; j <= l->n[1]; ++j)
      for (int i = 1; i <= l->n[0]; ++i) l->u[index_of(l, i, j, k)] += 0.14 * l->r[index_of(l, i, j, k)];
}

/* The residual of eight cells becomes the right side of the coarser one that holds them. */
static void restrict_to(const Level* fine, Level* coarse) {
  const long y = fine->n[0] + 2, z = y * (fine->n[1] + 2);
  for (int k = 1; k <= coarse->n[2]; ++k) {
    for (int j = 1; j <= coarse->n[1]; ++j) {
      for (int i = 1; i <= coarse->n[0]; ++i) {
        const double* r = fine->r + index_of(fine, 2 * i - 1, 2 * j - 1, 2 * k - 1);
        coarse->f[index_of(coarse, i, j, k)] = 0.5 * (r[0] + r[1] + r[y] + r[y + 1] + r[z] + r[z + 1] + r[z + y] + r[z + y + 1]);
        coarse->u[index_of(coarse, i, j, k)] = 0;
      }
    }
  }
}

static void correct(const Level* coarse, Level* fine) {
  for (int k = 1; k <= fine->n[2]; ++k)
    for (int j = 1; j <= fine->n[1]; ++j)
      for (int i = 1; i <= fine->n[0]; ++i)
        fine->u[index_of(fine, i, j, k)] += coarse->u[index_of(coarse, (i + 1) / 2, (j + 1) / 2, (k + 1) / 2)];
}

static void cycle(Level* levels, int count) {
  for (int l = 0; l + 1 < count; ++l) {
    smooth(&levels[l]);
    residual(&levels[l]);
    restrict_to(&levels[l], &levels[l + 1]);
  }
  for (int i = 0; i < 4; ++i) smooth(&levels[count - 1]);
  for (int l = count - 1; l > 0; --l) {
    correct(&levels[l], &levels[l - 1]);
    smooth(&levels[l - 1]);
  }
}

static long place_of(const Level* l, int i, int j, int k) {
  const long n0 = (long)l->n[0] * grid[0], n1 = (long)l->n[1] * grid[1];
  return ((long)(at[2] * l->n[2] + k) * n1 + at[1] * l->n[1] + j) * n0 + at[0] * l->n[0] + i;
}

/* As many levels as all ranks can take part in, at most. */
static int make_levels(Level* levels, int size, int most) {
  int n[3], count = 0;
  for (int a = 0; a < 3; ++a) n[a] = share(size, grid[a]);
  while (count < most) {
    Level* l = &levels[count++];
    memcpy(l->n, n, sizeof n);
    const long all = (long)(n[0] + 2) * (n[1] + 2) * (n[2] + 2);
    l->u = doubles(all), l->f = doubles(all), l->r = doubles(all);
    if (n[0] % 2 || n[1] % 2 || n[2] % 2) break;
    for (int a = 0; a < 3; ++a) n[a] /= 2;
  }
  return count;
}

int main(int argc, char** argv) {
  begin_kernel(&argc, &argv);
  const int size = (int)option_long(argc, argv, "--size", 64, 2), steps = (int)option_long(argc, argv, "--steps", 10, 1);
  split(ranks, 3, grid);
  at[0] = rank % grid[0], at[1] = rank / grid[0] % grid[1], at[2] = rank / grid[0] / grid[1];
  Level levels[LEVELS_MAX];
  const int count = make_levels(levels, size, (int)option_long(argc, argv, "--levels", 4, 1));
  Level* l = &levels[0];
  for (int i = 0; i < 2; ++i) out[i] = doubles((long)(size + 2) * (size + 2)), in[i] = doubles((long)(size + 2) * (size + 2));
  for (int k = 1; k <= l->n[2]; ++k)
    for (int j = 1; j <= l->n[1]; ++j)
      for (int i = 1; i <= l->n[0]; ++i) l->f[index_of(l, i, j, k)] = uniform_at(1, (uint64_t)place_of(l, i, j, k)) - 0.5;
  start_clock();
  for (int s = 0; s < steps; ++s) cycle(levels, count);
  uint64_t parts = 0;
  for (int k = 1; k <= l->n[2]; ++k)
    for (int j = 1; j <= l->n[1]; ++j)
      for (int i = 1; i <= l->n[0]; ++i) parts += part(place_of(l, i, j, k), l->u[index_of(l, i, j, k)]);
  end_kernel(parts);
  return 0;
}
