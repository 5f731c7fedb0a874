// What programs built for OpenMP ask of libgomp when one thread at a time is to do something (docs/threads.md).
#include "recorder/attempt.hpp"
#include "recorder/openmp.hpp"

namespace hf::recorder {
namespace {

void (*next_parallel)(void (*)(void*), void*, unsigned, unsigned);
int (*next_num_threads)();
void (*next_critical_start)();
void (*next_critical_name_start)(void**);
void (*next_atomic_start)();
void (*next_set_lock)(void*);
int (*next_test_lock)(void*);
void (*next_set_nest_lock)(void*);
int (*next_test_nest_lock)(void*);
bool (*next_single_start)();
void* (*next_single_copy_start)();

// A parallel region, as its threads see it: the team that does it.
struct Region {
  void (*work)(void*);
  void* argument;
  std::uint64_t come = 0;  // to `omp single` with copyprivate, all threads of the team, under the lock
};
thread_local constinit Region* innermost [[gnu::tls_model("initial-exec")]] = nullptr;

void work_in(void* region) {
  Region* const outer = innermost;
  innermost = static_cast<Region*>(region);
  innermost->work(innermost->argument);
  innermost = outer;
}

template <class Take>
void enter(const char* function, Take take) {
  threads.await_turn(function);
  take();
  threads.take(Operation::open_mp);
}

void set_lock(const void* caller, void* lock) {
  auto* real = next_for(caller, next_set_lock, "omp_set_lock");
  if (!threads.orders_locks(caller)) return real(lock);
  enter("omp_set_lock", [=] { real(lock); });
}

void set_nest_lock(const void* caller, void* lock) {
  auto* real = next_for(caller, next_set_nest_lock, "omp_set_nest_lock");
  if (!threads.orders_locks(caller)) return real(lock);
  enter("omp_set_nest_lock", [=] { real(lock); });
}

int test_lock(const void* caller, void* lock) {
  auto* real = next_for(caller, next_test_lock, "omp_test_lock");
  if (!threads.orders_locks(caller)) return real(lock);
  return attempt_at_once("omp_test_lock", [=] { return real(lock) ? 0 : EBUSY; }) == 0;
}

int test_nest_lock(const void* caller, void* lock) {
  auto* real = next_for(caller, next_test_nest_lock, "omp_test_nest_lock");
  if (!threads.orders_locks(caller)) return real(lock);
  int depth = 0;  // how often it is locked then
  attempt_at_once("omp_test_nest_lock", [&] { return (depth = real(lock)) ? 0 : EBUSY; });
  return depth;
}

}  // namespace
}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES void GOMP_critical_start() {
  auto* real = next_for(CALLER, next_critical_start, "GOMP_critical_start");
  if (!threads.orders_locks(CALLER)) return real();
  enter("omp critical", real);
}

HOLDFAST_REPLACES void GOMP_critical_name_start(void** name) {
  auto* real = next_for(CALLER, next_critical_name_start, "GOMP_critical_name_start");
  if (!threads.orders_locks(CALLER)) return real(name);
  enter("omp critical", [=] { real(name); });
}

HOLDFAST_REPLACES void GOMP_atomic_start() {
  auto* real = next_for(CALLER, next_atomic_start, "GOMP_atomic_start");
  if (!threads.orders_locks(CALLER)) return real();
  enter("omp atomic", real);
}

HOLDFAST_REPLACES void omp_set_lock(void* lock) { set_lock(CALLER, lock); }
HOLDFAST_REPLACES void omp_set_nest_lock(void* lock) { set_nest_lock(CALLER, lock); }
HOLDFAST_REPLACES int omp_test_lock(void* lock) { return test_lock(CALLER, lock); }
HOLDFAST_REPLACES int omp_test_nest_lock(void* lock) { return test_nest_lock(CALLER, lock); }
// Fortran's.
HOLDFAST_REPLACES void omp_set_lock_(void* lock) { set_lock(CALLER, lock); }
HOLDFAST_REPLACES void omp_set_nest_lock_(void* lock) { set_nest_lock(CALLER, lock); }
HOLDFAST_REPLACES int omp_test_lock_(void* lock) { return test_lock(CALLER, lock); }
HOLDFAST_REPLACES int omp_test_nest_lock_(void* lock) { return test_nest_lock(CALLER, lock); }

HOLDFAST_REPLACES void GOMP_parallel(void (*work)(void*), void* argument, unsigned count, unsigned flags) {
  auto* real = next_for(CALLER, next_parallel, "GOMP_parallel");
  if (!process.may_record()) return real(work, argument, count, flags);
  Region region{work, argument};
  real(work_in, &region, count, flags);
}

HOLDFAST_REPLACES bool GOMP_single_start() {
  auto* real = next_for(CALLER, next_single_start, "GOMP_single_start");
  if (!threads.orders_locks(CALLER)) return real();
  return in_turn("omp single", real);
}

// Null for the one who does it; the others wait in it for what that one has to say, once they are counted. Who is the first to come follows from
// how many of the team have come before.
HOLDFAST_REPLACES void* GOMP_single_copy_start() {
  auto* real = next_for(CALLER, next_single_copy_start, "GOMP_single_copy_start");
  if (!threads.orders_locks(CALLER)) return real();
  Region* const region = innermost;
  if (!region) return acquire(Operation::single, "omp single", real);
  const auto team = static_cast<std::uint64_t>(next_for(CALLER, next_num_threads, "omp_get_num_threads")());
  bool first = false;
  void* const own = in_turn("omp single", [&] {
    first = region->come++ % team == 0;
    return first ? real() : nullptr;
  });
  return first ? own : real();
}
