// Locks and conditions of C11, which the C library does not make of those of POSIX by calls that could be seen (docs/threads.md).
#include <threads.h>

#include "recorder/condition.hpp"
#include "recorder/once.hpp"
#include "recorder/process.hpp"
#include "recorder/until.hpp"

namespace hf::recorder {
namespace {

int (*next_mtx_lock)(mtx_t*);
int (*next_mtx_unlock)(mtx_t*);
int (*next_mtx_trylock)(mtx_t*);
int (*next_mtx_timedlock)(mtx_t*, const timespec*);
int (*next_cnd_wait)(cnd_t*, mtx_t*);
int (*next_cnd_timedwait)(cnd_t*, mtx_t*, const timespec*);
void (*next_call_once)(once_flag*, void (*)());

// C11's results as error numbers, and back. Others than these are not of a lock that could be had later.
int number_of(int result) { return result == thrd_busy ? EBUSY : result == thrd_timedout ? ETIMEDOUT : result == thrd_success ? 0 : -result; }
int result_of(int number) { return number == EBUSY ? thrd_busy : number == ETIMEDOUT ? thrd_timedout : number == 0 ? thrd_success : -number; }

int lock_mutex(mtx_t* m) { return next(next_mtx_lock, "mtx_lock")(m); }

template <class Wait>
int wait_with(const char* function, mtx_t* mutex, Wait wait) {
  return result_of(wait_for_condition(
      function, [=] { return number_of(wait()); }, [=] { return number_of(next(next_mtx_unlock, "mtx_unlock")(mutex)); },
      [=] { return lock_mutex(mutex); }));
}

}  // namespace
}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int mtx_lock(mtx_t* m) {
  if (!threads.orders_locks(CALLER)) [[likely]] return lock_mutex(m);
  return acquire(Operation::lock, "mtx_lock", [=] { return lock_mutex(m); });
}

HOLDFAST_REPLACES int mtx_trylock(mtx_t* m) {
  auto* real = next(next_mtx_trylock, "mtx_trylock");
  if (!threads.orders_locks(CALLER)) return real(m);
  return result_of(attempt_at_once("mtx_trylock", [=] { return number_of(real(m)); }));
}

HOLDFAST_REPLACES int mtx_timedlock(mtx_t* m, const timespec* until) {
  const Until at(CALLER, CLOCK_REALTIME, until);
  auto* real = next(next_mtx_timedlock, "mtx_timedlock");
  if (!threads.orders_locks(CALLER)) return real(m, until);
  return result_of(attempt_until("mtx_timedlock", until, [=](const timespec* at_most) { return number_of(real(m, at_most)); }));
}

HOLDFAST_REPLACES int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  auto* real = next(next_cnd_wait, "cnd_wait");
  if (!threads.orders_locks(CALLER)) return real(condition, mutex);
  return wait_with("cnd_wait", mutex, [=] { return real(condition, mutex); });
}

HOLDFAST_REPLACES int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  const Until at(CALLER, CLOCK_REALTIME, until);
  auto* real = next(next_cnd_timedwait, "cnd_timedwait");
  if (!threads.orders_locks(CALLER)) return real(condition, mutex, until);
  return wait_with("cnd_timedwait", mutex, [=] { return real(condition, mutex, until); });
}

HOLDFAST_REPLACES void call_once(once_flag* once, void (*what)()) {
  auto* real = next(next_call_once, "call_once");
  if (!threads.orders_locks(CALLER)) return real(once, what);
  do_once("call_once", what, [=](void (*counted)()) {
    real(once, counted);
    return 0;
  });
}
