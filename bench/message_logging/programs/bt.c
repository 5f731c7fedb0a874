/* BT: implicit steps, each solving block-tridiagonal systems along the three axes in turn (5 x 5 blocks): forward elimination sends a
   block and a vector for each line from cell to cell, back substitution a vector. Receives are from a named source. The digest is
   the same for every number of ranks.

     bt [--size N] [--steps S]    ranks: a square; N a multiple of its root */
#include "adi.h"

enum { FORWARD = V * V + V }; /* eliminated upper block and right side of the point before; nothing but zeros before the first */

static double* upper[CELLS_MAX]; /* the eliminated upper blocks, for the way back */

static double* upper_at(int c, int i, int j, int k) { return upper[c] + (((long)k * edge + j) * edge + i) * V * V; }

/* The blocks of a point: below and above the diagonal -0.05 and a coupling by the solution, on it an excess. */
static void blocks(const double* p, double side[V][V], double diagonal[V][V]) {
  for (int a = 0; a < V; ++a) {
    for (int b = 0; b < V; ++b) {
      side[a][b] = (a == b ? -0.05 : 0) - 0.002 * p[(a + b) % V];
      diagonal[a][b] = (a == b ? 1.2 : 0) + 0.004 * p[(a + 2 * b) % V];
    }
  }
}

/* x = inverse(m) x for the columns of x, by elimination without pivots: m is dominated by its diagonal. */
static void solve(double m[V][V], double x[V][V + 1]) {
  for (int a = 0; a < V; ++a) {
    const double inverse = 1 / m[a][a];
    for (int b = a + 1; b < V; ++b) m[a][b] *= inverse;
    for (int b = 0; b <= V; ++b) x[a][b] *= inverse;
    for (int r = 0; r < V; ++r) {
      if (r == a) continue;
      const double factor = m[r][a];
      for (int b = a + 1; b < V; ++b) m[r][b] -= factor * m[a][b];
      for (int b = 0; b <= V; ++b) x[r][b] -= factor * x[a][b];
    }
  }
}

static void eliminate(int c, int axis, const int* place, double* carried) {
  int p[3] = {place[0], place[1], place[2]};
  for (p[axis] = 0; p[axis] < edge; ++p[axis]) {
    double side[V][V], m[V][V], x[V][V + 1];
    double* r = rhs_at(c, p[0], p[1], p[2]);
    blocks(u_at(c, p[0] + 1, p[1] + 1, p[2] + 1), side, m);
    const double *before = carried, *right = carried + V * V;
    for (int a = 0; a < V; ++a) {
      double sum = r[a];
      for (int b = 0; b < V; ++b) {
        x[a][b] = side[a][b];
        sum -= side[a][b] * right[b];
        for (int e = 0; e < V; ++e) m[a][b] -= side[a][e] * before[e * V + b];
      }
      x[a][V] = sum;
    }
    solve(m, x);
    double* kept = upper_at(c, p[0], p[1], p[2]);
    for (int a = 0; a < V; ++a) {
      for (int b = 0; b < V; ++b) kept[a * V + b] = carried[a * V + b] = x[a][b];
      carried[V * V + a] = r[a] = x[a][V];
    }
  }
}

static void substitute(int c, int axis, const int* place, double* carried) {
  int p[3] = {place[0], place[1], place[2]};
  for (p[axis] = edge - 1; p[axis] >= 0; --p[axis]) {
    double* r = rhs_at(c, p[0], p[1], p[2]);
    const double* kept = upper_at(c, p[0], p[1], p[2]);
    double sums[V];
    for (int a = 0; a < V; ++a) {
      sums[a] = r[a];
      for (int b = 0; b < V; ++b) sums[a] -= kept[a * V + b] * carried[b];
    }
    memcpy(r, sums, sizeof sums);
    memcpy(carried, sums, sizeof sums);
  }
}

int main(int argc, char** argv) {
  begin_kernel(&argc, &argv);
  begin_adi(argc, argv, 24);
  const int steps = (int)option_long(argc, argv, "--steps", 20, 1);
  for (int c = 0; c < q; ++c) upper[c] = doubles((long)edge * edge * edge * V * V);
  start_clock();
  for (int s = 0; s < steps; ++s) {
    right_side();
    for (int axis = 0; axis < 3; ++axis) {
      sweep(axis, 1, eliminate, FORWARD, 10 + axis);
      sweep(axis, -1, substitute, V, 20 + axis);
    }
    add();
  }
  end_adi();
  return 0;
}
