// Conditions. What counts is when a thread has the mutex again: in the replay nobody waits for a signal, which may have come before, or may
// come to nobody (docs/threads.md).
#include <pthread.h>

#include "recorder/attempt.hpp"
#include "recorder/process.hpp"

namespace hf::recorder {
namespace {

int (*next_cond_wait)(pthread_cond_t*, pthread_mutex_t*);
int (*next_cond_timedwait)(pthread_cond_t*, pthread_mutex_t*, const timespec*);
int (*next_cond_clockwait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
int (*next_mutex_lock)(pthread_mutex_t*);
int (*next_mutex_unlock)(pthread_mutex_t*);

// Conditions of another kind had these names before.
template <class Function>
Function* next_condition(Function*& cached, const char* name) {
  if (!cached) cached = reinterpret_cast<Function*>(::dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2"));
  return next(cached, name);
}

[[gnu::always_inline]] inline bool orders(const void* caller) {
#ifdef HOLDFAST_MUTATE_LOCKS_NOT_ORDERED
  return false;
#endif
  return threads.orders(caller);
}

// Behind the record it returns without a reason, as a wait for a condition may: the signal may have been given in the replay.
int wait_in_replay(const char* function, pthread_mutex_t* mutex) {
  if (const int code = next(next_mutex_unlock, "pthread_mutex_unlock")(mutex); code != 0) return code;
  const bool recorded = threads.await_turn(function);
  const Outcome outcome = recorded ? threads.recorded_outcome() : Outcome::done;
  next(next_mutex_lock, "pthread_mutex_lock")(mutex);
  return code_of(threads.take(Operation::condition, outcome), EBUSY);
}

template <class Wait>
int wait_for_condition(const char* function, pthread_mutex_t* mutex, Wait wait) {
  if (threads.replaying()) return wait_in_replay(function, mutex);
  const int code = wait();
  threads.take(Operation::condition, outcome_of(code));
  return code;
}

}  // namespace
}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  auto* real = next_condition(next_cond_wait, "pthread_cond_wait");
  if (!orders(__builtin_return_address(0))) return real(condition, mutex);
  return wait_for_condition("pthread_cond_wait", mutex, [=] { return real(condition, mutex); });
}

HOLDFAST_REPLACES int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  auto* real = next_condition(next_cond_timedwait, "pthread_cond_timedwait");
  if (!orders(__builtin_return_address(0))) return real(condition, mutex, until);
  return wait_for_condition("pthread_cond_timedwait", mutex, [=] { return real(condition, mutex, until); });
}

HOLDFAST_REPLACES int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  auto* real = next(next_cond_clockwait, "pthread_cond_clockwait");
  if (!orders(__builtin_return_address(0))) return real(condition, mutex, clock, until);
  return wait_for_condition("pthread_cond_clockwait", mutex, [=] { return real(condition, mutex, clock, until); });
}
