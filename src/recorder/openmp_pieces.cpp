// Who gets the next piece of a loop or the next section (docs/threads.md): `schedule(dynamic)`, `guided` and `runtime`, and `sections`. A loop that
// is not shared out by a schedule of these asks libgomp for nothing.
#include "recorder/openmp.hpp"

using namespace hf::recorder;

using Long = long;
using Unsigned = unsigned long long;

// A function of libgomp that hands out a piece; false: there is none left.
#define HANDS_OUT(result, name, what, parameters, arguments)          \
  HOLDFAST_REPLACES result name parameters {                          \
    static result(*cached) parameters;                                \
    auto* real = next_for(CALLER, cached, #name);                     \
    if (!threads.orders_locks(CALLER)) return real arguments;         \
    return in_turn(what, [=] { return real arguments; });             \
  }

#define LOOP(kind, what)                                                                                                                  \
  HANDS_OUT(bool, GOMP_loop_##kind##_start, what, (Long first, Long end, Long step, Long chunk, Long* from, Long* to),                    \
            (first, end, step, chunk, from, to))                                                                                          \
  HANDS_OUT(bool, GOMP_loop_##kind##_next, what, (Long * from, Long * to), (from, to))                                                    \
  HANDS_OUT(bool, GOMP_loop_ull_##kind##_start, what,                                                                                     \
            (bool up, Unsigned first, Unsigned end, Unsigned step, Unsigned chunk, Unsigned* from, Unsigned* to),                         \
            (up, first, end, step, chunk, from, to))                                                                                      \
  HANDS_OUT(bool, GOMP_loop_ull_##kind##_next, what, (Unsigned * from, Unsigned * to), (from, to))

// The schedule, and how much is handed out at a time, are what the program or OMP_SCHEDULE has said.
#define RUNTIME_LOOP(kind)                                                                                                                \
  HANDS_OUT(bool, GOMP_loop_##kind##_start, "omp for schedule(runtime)", (Long first, Long end, Long step, Long* from, Long* to),         \
            (first, end, step, from, to))                                                                                                 \
  HANDS_OUT(bool, GOMP_loop_##kind##_next, "omp for schedule(runtime)", (Long * from, Long * to), (from, to))                             \
  HANDS_OUT(bool, GOMP_loop_ull_##kind##_start, "omp for schedule(runtime)",                                                              \
            (bool up, Unsigned first, Unsigned end, Unsigned step, Unsigned* from, Unsigned* to), (up, first, end, step, from, to))       \
  HANDS_OUT(bool, GOMP_loop_ull_##kind##_next, "omp for schedule(runtime)", (Unsigned * from, Unsigned * to), (from, to))

LOOP(dynamic, "omp for schedule(dynamic)")
LOOP(nonmonotonic_dynamic, "omp for schedule(dynamic)")
LOOP(guided, "omp for schedule(guided)")
LOOP(nonmonotonic_guided, "omp for schedule(guided)")
RUNTIME_LOOP(runtime)
RUNTIME_LOOP(nonmonotonic_runtime)
RUNTIME_LOOP(maybe_nonmonotonic_runtime)

HANDS_OUT(unsigned, GOMP_sections_start, "omp sections", (unsigned count), (count))
HANDS_OUT(unsigned, GOMP_sections_next, "omp sections", (), ())
