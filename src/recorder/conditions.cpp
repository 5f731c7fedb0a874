// Conditions of POSIX (docs/threads.md).
#include <pthread.h>

#include "recorder/condition.hpp"
#include "recorder/process.hpp"
#include "recorder/until.hpp"

namespace hf::recorder {
namespace {

constexpr unsigned clock_bit = 2;

int (*next_cond_wait)(pthread_cond_t*, pthread_mutex_t*);
int (*next_cond_timedwait)(pthread_cond_t*, pthread_mutex_t*, const timespec*);
int (*next_cond_clockwait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
int (*next_mutex_lock)(pthread_mutex_t*);
int (*next_mutex_unlock)(pthread_mutex_t*);

// Conditions of another kind had these names before.
template <class Function>
Function* next_condition(Function*& cached, const char* name) {
  if (!cached) cached = reinterpret_cast<Function*>(find_next(name, "GLIBC_2.3.2"));
  return next(cached, name);
}

// Whether the C library notes with a condition that it goes by the monotonic clock, in the bit that it had at all times.
bool find_out_whether_clock_is_noted() {
  pthread_condattr_t attributes;
  pthread_cond_t condition;
  ::pthread_condattr_init(&attributes);
  ::pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  ::pthread_cond_init(&condition, &attributes);
  const bool noted = (condition.__data.__wrefs & clock_bit) != 0;
  ::pthread_cond_destroy(&condition);
  ::pthread_condattr_destroy(&attributes);
  return noted;
}

clockid_t clock_of(const pthread_cond_t* condition) {
  static const bool is_noted = find_out_whether_clock_is_noted();
  return is_noted && (condition->__data.__wrefs & clock_bit) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

template <class Wait>
int wait_with(const char* function, pthread_mutex_t* mutex, Wait wait) {
  return wait_for_condition(
      function, wait, [=] { return next(next_mutex_unlock, "pthread_mutex_unlock")(mutex); },
      [=] { return next(next_mutex_lock, "pthread_mutex_lock")(mutex); });
}

}  // namespace
}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  auto* real = next_condition(next_cond_wait, "pthread_cond_wait");
  if (!threads.orders_locks(CALLER)) return real(condition, mutex);
  return wait_with("pthread_cond_wait", mutex, [=] { return real(condition, mutex); });
}

HOLDFAST_REPLACES int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  const Until at(CALLER, clock_of(condition), until);
  auto* real = next_condition(next_cond_timedwait, "pthread_cond_timedwait");
  if (!threads.orders_locks(CALLER)) return real(condition, mutex, until);
  return wait_with("pthread_cond_timedwait", mutex, [=] { return real(condition, mutex, until); });
}

HOLDFAST_REPLACES int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  const Until at(CALLER, clock, until);
  auto* real = next(next_cond_clockwait, "pthread_cond_clockwait");
  if (!threads.orders_locks(CALLER)) return real(condition, mutex, clock, until);
  return wait_with("pthread_cond_clockwait", mutex, [=] { return real(condition, mutex, clock, until); });
}
