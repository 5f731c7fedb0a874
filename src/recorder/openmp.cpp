// What programs built for OpenMP ask of libgomp when one thread at a time is to do something (docs/threads.md).
#include "recorder/attempt.hpp"
#include "recorder/openmp.hpp"

namespace hf::recorder {
namespace {

void (*next_critical_start)();
void (*next_critical_name_start)(void**);
void (*next_atomic_start)();
void (*next_set_lock)(void*);
int (*next_test_lock)(void*);
void (*next_set_nest_lock)(void*);
bool (*next_single_start)();
void* (*next_single_copy_start)();

template <class Take>
void enter(const char* function, Take take) {
  threads.await_turn(function);
  take();
  threads.take(Operation::open_mp);
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

HOLDFAST_REPLACES void omp_set_lock(void* lock) {
  auto* real = next_for(CALLER, next_set_lock, "omp_set_lock");
  if (!threads.orders_locks(CALLER)) return real(lock);
  enter("omp_set_lock", [=] { real(lock); });
}

HOLDFAST_REPLACES void omp_set_nest_lock(void* lock) {
  auto* real = next_for(CALLER, next_set_nest_lock, "omp_set_nest_lock");
  if (!threads.orders_locks(CALLER)) return real(lock);
  enter("omp_set_nest_lock", [=] { real(lock); });
}

HOLDFAST_REPLACES int omp_test_lock(void* lock) {
  const void* caller = CALLER;
  auto* real = next_for(caller, next_test_lock, "omp_test_lock");
  if (!threads.orders_locks(caller)) return real(lock);
  auto take = [=] {
    next_for(caller, next_set_lock, "omp_set_lock")(lock);
    return 0;
  };
  return attempt("omp_test_lock", [=] { return real(lock) ? 0 : EBUSY; }, take) == 0;
}

HOLDFAST_REPLACES bool GOMP_single_start() {
  auto* real = next_for(CALLER, next_single_start, "GOMP_single_start");
  if (!threads.orders_locks(CALLER)) return real();
  return in_turn("omp single", real);
}

// Null for the one who does it; the others wait for what it has to say.
HOLDFAST_REPLACES void* GOMP_single_copy_start() {
  auto* real = next_for(CALLER, next_single_copy_start, "GOMP_single_copy_start");
  if (!threads.orders_locks(CALLER)) return real();
  return acquire(Operation::single, "omp single", real);
}
