/* Work that takes some milliseconds: a replay does it again, while it would be through with a recorded pause at once. */
#pragma once

static void compute(int steps) {
  for (volatile int i = 0; i < steps; ++i) {
  }
}
