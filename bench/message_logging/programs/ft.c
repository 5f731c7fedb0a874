/* FT: Fourier transforms of a cube there and back, on each rank along two axes, all-to-all, then along the third, with a sum over all
   after each. Collectives alone. The digest is the same for every number of ranks.

     ft [--size N] [--steps S]    N a power of two and a multiple of the ranks */
#include <complex.h>

#include "kernels.h"

typedef double complex Complex;

static int n, mine; /* the cube's edge, and how many of its planes this rank has */
static Complex *roots, *line, *block;

static void transform(Complex* x, int sign) {
  for (int i = 1, j = 0; i < n; ++i) {
    int bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      const Complex kept = x[i];
      x[i] = x[j], x[j] = kept;
    }
  }
  for (int length = 2; length <= n; length *= 2) {
    for (int i = 0; i < n; i += length) {
      for (int k = 0; k < length / 2; ++k) {
        const Complex w = sign > 0 ? roots[k * (n / length)] : conj(roots[k * (n / length)]);
        const Complex even = x[i + k], odd = w * x[i + k + length / 2];
        x[i + k] = even + odd, x[i + k + length / 2] = even - odd;
      }
    }
  }
}

/* All lines of a plane along its fast or its slow axis. */
static void transform_plane(Complex* plane, int slow, int sign) {
  for (int i = 0; i < n; ++i) {
    if (!slow) {
      transform(plane + (long)i * n, sign);
      continue;
    }
    for (int j = 0; j < n; ++j) line[j] = plane[(long)j * n + i];
    transform(line, sign);
    for (int j = 0; j < n; ++j) plane[(long)j * n + i] = line[j];
  }
}

/* Planes of the first axis become planes of the second: [a][b][c] on ranks by a, to [b][a][c] on ranks by b. */
static void transpose(Complex* x, Complex* y) {
  const long piece = (long)mine * mine * n;
  for (int r = 0; r < ranks; ++r)
    for (int a = 0; a < mine; ++a)
      memcpy(y + r * piece + (long)a * mine * n, x + ((long)a * n + r * mine) * n, (size_t)mine * n * sizeof *x);
  MPI_Alltoall(y, (int)(2 * piece), MPI_DOUBLE, block, (int)(2 * piece), MPI_DOUBLE, MPI_COMM_WORLD);
  for (int r = 0; r < ranks; ++r)
    for (int a = 0; a < mine; ++a)
      for (int b = 0; b < mine; ++b)
        memcpy(x + ((long)b * n + r * mine + a) * n, block + r * piece + ((long)a * mine + b) * n, (size_t)n * sizeof *x);
}

static Complex at_first(long place) { return uniform_at(1, (uint64_t)place) + I * uniform_at(2, (uint64_t)place); }

/* There or back; the square sum stays what it was. */
static void step(Complex* x, Complex* y, int sign) {
  const long all = (long)mine * n * n;
  for (int a = 0; a < mine; ++a) {
    transform_plane(x + (long)a * n * n, 0, sign);
    transform_plane(x + (long)a * n * n, 1, sign);
  }
  transpose(x, y);
  double sum[2] = {0, 0}, whole[2];
  for (int b = 0; b < mine; ++b) transform_plane(x + (long)b * n * n, 1, sign);
  for (long i = 0; i < all; ++i) {
    x[i] *= pow(n, -1.5);
    sum[0] += creal(x[i]), sum[1] += cimag(x[i]);
  }
  MPI_Allreduce(sum, whole, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (!isfinite(whole[0]) || !isfinite(whole[1])) fail("ft", "the transform is not finite");
}

int main(int argc, char** argv) {
  begin_kernel(&argc, &argv);
  n = (int)option_long(argc, argv, "--size", 64, 2);
  const int steps = (int)option_long(argc, argv, "--steps", 6, 1);
  if (n & (n - 1)) fail("ft", "--size must be a power of two");
  mine = share(n, ranks);
  const long all = (long)mine * n * n;
  Complex *x = allocate((size_t)all, sizeof *x), *y = allocate((size_t)all, sizeof *y);
  roots = allocate((size_t)n, sizeof *roots), line = allocate((size_t)n, sizeof *line), block = allocate((size_t)all, sizeof *block);
  const double turn = 2 * acos(-1.0) / n;
  for (int i = 0; i < n; ++i) roots[i] = cos(turn * i) - I * sin(turn * i);
  for (long i = 0; i < all; ++i) x[i] = at_first(rank * all + i);
  start_clock();
  for (int s = 0; s < steps; ++s) step(x, y, s % 2 ? -1 : 1);
  for (long i = 0; i < all && steps % 2 == 0; ++i) {
    if (!(cabs(x[i] - at_first(rank * all + i)) < 1e-9)) fail("ft", "there and back is not where it began");
  }
  uint64_t parts = 0;
  for (long i = 0; i < all; ++i) parts += part(2 * (rank * all + i), creal(x[i])) + part(2 * (rank * all + i) + 1, cimag(x[i]));
  end_kernel(parts);
  return 0;
}
