/* SP: as BT, with scalar pentadiagonal systems, one for each of the five unknowns: elimination sends what the last two points of a line
   leave, back substitution their two values. Receives are from a named source. The digest is the same for every number of ranks.

     sp [--size N] [--steps S]    ranks: a square; N a multiple of its root */
#include "adi.h"

enum { FORWARD = 6 * V, BACK = 2 * V }; /* of the last point and the one before it: first and second upper factor, right side */

static double* upper[CELLS_MAX]; /* both upper factors, for the way back */

static double* upper_at(int c, int i, int j, int k) { return upper[c] + (((long)k * edge + j) * edge + i) * 2 * V; }

/* Rows e, a, d, a, e; nothing stands before the first point, whose carried factors are 0. */
static void eliminate(int c, int axis, const int* place, double* carried) {
  int p[3] = {place[0], place[1], place[2]};
  for (p[axis] = 0; p[axis] < edge; ++p[axis]) {
    double *r = rhs_at(c, p[0], p[1], p[2]), *kept = upper_at(c, p[0], p[1], p[2]);
    const double* here = u_at(c, p[0] + 1, p[1] + 1, p[2] + 1);
    for (int v = 0; v < V; ++v) {
      double *last = carried + 6 * v, *older = last + 3;
      const double e = 0.01, a = -0.1 - 0.01 * here[v], d = 1.3 + 0.02 * here[(v + 1) % V];
      const double low = a - e * older[0];
      const double pivot = 1 / (d - e * older[1] - low * last[0]);
      const double first = (a - low * last[1]) * pivot, second = e * pivot, right = (r[v] - e * older[2] - low * last[2]) * pivot;
      memcpy(older, last, 3 * sizeof *last);
      kept[2 * v] = last[0] = first, kept[2 * v + 1] = last[1] = second, r[v] = last[2] = right;
    }
  }
}

static void substitute(int c, int axis, const int* place, double* carried) {
  int p[3] = {place[0], place[1], place[2]};
  for (p[axis] = edge - 1; p[axis] >= 0; --p[axis]) {
    double* r = rhs_at(c, p[0], p[1], p[2]);
    const double* kept = upper_at(c, p[0], p[1], p[2]);
    for (int v = 0; v < V; ++v) {
      r[v] -= kept[2 * v] * carried[2 * v] + kept[2 * v + 1] * carried[2 * v + 1];
      carried[2 * v + 1] = carried[2 * v];
      carried[2 * v] = r[v];
    }
  }
}

int main(int argc, char** argv) {
  begin_kernel(&argc, &argv);
  begin_adi(argc, argv, 24);
  const int steps = (int)option_long(argc, argv, "--steps", 60, 1);
  for (int c = 0; c < q; ++c) upper[c] = doubles((long)edge * edge * edge * 2 * V);
  start_clock();
  for (int s = 0; s < steps; ++s) {
    right_side();
    for (int axis = 0; axis < 3; ++axis) {
      sweep(axis, 1, eliminate, FORWARD, 10 + axis);
      sweep(axis, -1, substitute, BACK, 20 + axis);
    }
    add();
  }
  end_adi();
  return 0;
}
