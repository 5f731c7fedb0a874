// What programs built for OpenMP ask of libgomp when one thread at a time is to do something (docs/threads.md).
#include <link.h>

#include "recorder/attempt.hpp"
#include "recorder/process.hpp"

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

// As next(); the library may be one that is seen only by the object that calls, as one that Python has loaded.
template <class Function>
Function* next_for(const void* caller, Function*& cached, const char* name) {
  if (Function* found = next(cached, name)) return found;
  Dl_info info;
  link_map* map = nullptr;
  if (::dladdr1(caller, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || !map) return nullptr;
  void* object = ::dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
  auto* found = object ? reinterpret_cast<Function*>(::dlsym(object, name)) : nullptr;
  if (object) ::dlclose(object);
  return found;
}

[[gnu::always_inline]] inline bool orders(const void* caller) {
#ifdef HOLDFAST_MUTATE_LOCKS_NOT_ORDERED
  return false;
#endif
  return threads.orders(caller);
}

template <class Take>
void enter(const char* function, Take take) {
  threads.await_turn(function);
  take();
  threads.take(Operation::open_mp);
}

// Whether it is this thread, which is the first to come: they come in the order in which they are counted.
template <class Ask>
bool choose(const char* function, Ask ask) {
  threads.await_turn(function);
  Outcome none = Outcome::done;
  threads.lock.lock();
  threads.take_locked(Operation::single, none);
  const bool own = ask();
  threads.lock.unlock();
  return own;
}

}  // namespace
}  // namespace hf::recorder

using namespace hf::recorder;

#define CALLER __builtin_return_address(0)

HOLDFAST_REPLACES void GOMP_critical_start() {
  auto* real = next_for(CALLER, next_critical_start, "GOMP_critical_start");
  if (!orders(CALLER)) return real();
  enter("omp critical", real);
}

HOLDFAST_REPLACES void GOMP_critical_name_start(void** name) {
  auto* real = next_for(CALLER, next_critical_name_start, "GOMP_critical_name_start");
  if (!orders(CALLER)) return real(name);
  enter("omp critical", [=] { real(name); });
}

HOLDFAST_REPLACES void GOMP_atomic_start() {
  auto* real = next_for(CALLER, next_atomic_start, "GOMP_atomic_start");
  if (!orders(CALLER)) return real();
  enter("omp atomic", real);
}

HOLDFAST_REPLACES void omp_set_lock(void* lock) {
  auto* real = next_for(CALLER, next_set_lock, "omp_set_lock");
  if (!orders(CALLER)) return real(lock);
  enter("omp_set_lock", [=] { real(lock); });
}

HOLDFAST_REPLACES void omp_set_nest_lock(void* lock) {
  auto* real = next_for(CALLER, next_set_nest_lock, "omp_set_nest_lock");
  if (!orders(CALLER)) return real(lock);
  enter("omp_set_nest_lock", [=] { real(lock); });
}

HOLDFAST_REPLACES int omp_test_lock(void* lock) {
  const void* caller = CALLER;
  auto* real = next_for(caller, next_test_lock, "omp_test_lock");
  if (!orders(caller)) return real(lock);
  auto take = [=] {
    next_for(caller, next_set_lock, "omp_set_lock")(lock);
    return 0;
  };
  return attempt("omp_test_lock", [=] { return real(lock) ? 0 : EBUSY; }, take) == 0;
}

HOLDFAST_REPLACES bool GOMP_single_start() {
  auto* real = next_for(CALLER, next_single_start, "GOMP_single_start");
  if (!orders(CALLER)) return real();
  return choose("omp single", real);
}

// Null for the one who does it; the others wait for what it has to say.
HOLDFAST_REPLACES void* GOMP_single_copy_start() {
  auto* real = next_for(CALLER, next_single_copy_start, "GOMP_single_copy_start");
  if (!orders(CALLER)) return real();
  return acquire(Operation::single, "omp single", real);
}
