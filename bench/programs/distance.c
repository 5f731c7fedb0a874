/* How far the first two processors of our affinity mask are from each other: one cache line goes to and fro between two
   spinning processes, one pinned to each. Prints "point one_way_ns VALUE", the fastest of several batches. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES = 12, TRIPS = 2000, LINE = 64 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* The n-th processor we may run on, or -1. */
static int processor(int n) {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask)) return -1;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &mask) && n-- == 0) return i;
  }
  return -1;
}

static void pin(int to) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(to, &mask);
  sched_setaffinity(0, sizeof mask, &mask);
}

static void play(_Atomic int* line, int mine) {
  for (int i = 0; i < TRIPS; ++i) {
    while (atomic_load_explicit(line, memory_order_acquire) != mine) {
    }
    atomic_store_explicit(line, 1 - mine, memory_order_release);
  }
}

int main(void) {
  const int first = processor(0), second = processor(1);
  _Atomic int* line = mmap(NULL, LINE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (first < 0 || second < 0 || line == MAP_FAILED) {
    fprintf(stderr, "distance: needs two processors\n");
    return 1;
  }
  const pid_t child = fork();
  if (child < 0) return 1;
  pin(child ? first : second);
  double best = 1e18;
  for (int b = 0; b < BATCHES; ++b) {
    const double start = now_ns();
    play(line, child ? 0 : 1);
    const double one_way = (now_ns() - start) / TRIPS / 2;
    if (one_way < best) best = one_way;
  }
  if (!child) _exit(0);
  waitpid(child, NULL, 0);
  printf("point one_way_ns %.1f\n", best);
  return 0;
}
