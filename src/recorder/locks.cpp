// Locks of the C library: which thread has one next is recorded (docs/threads.md). What lets one go is left alone.
#include <pthread.h>
#include <semaphore.h>

#include "recorder/attempt.hpp"
#include "recorder/once.hpp"
#include "recorder/process.hpp"
#include "recorder/until.hpp"

namespace hf::recorder {
namespace {

int (*next_mutex_lock)(pthread_mutex_t*);
int (*next_mutex_trylock)(pthread_mutex_t*);
int (*next_mutex_timedlock)(pthread_mutex_t*, const timespec*);
int (*next_mutex_clocklock)(pthread_mutex_t*, clockid_t, const timespec*);
int (*next_spin_lock)(pthread_spinlock_t*);
int (*next_spin_trylock)(pthread_spinlock_t*);
int (*next_rdlock)(pthread_rwlock_t*);
int (*next_wrlock)(pthread_rwlock_t*);
int (*next_tryrdlock)(pthread_rwlock_t*);
int (*next_trywrlock)(pthread_rwlock_t*);
int (*next_timedrdlock)(pthread_rwlock_t*, const timespec*);
int (*next_timedwrlock)(pthread_rwlock_t*, const timespec*);
int (*next_clockrdlock)(pthread_rwlock_t*, clockid_t, const timespec*);
int (*next_clockwrlock)(pthread_rwlock_t*, clockid_t, const timespec*);
int (*next_sem_wait)(sem_t*);
int (*next_sem_trywait)(sem_t*);
int (*next_sem_timedwait)(sem_t*, const timespec*);
int (*next_sem_clockwait)(sem_t*, clockid_t, const timespec*);
int (*next_once)(pthread_once_t*, void (*)());

int lock_mutex(pthread_mutex_t* m) { return next(next_mutex_lock, "pthread_mutex_lock")(m); }
int lock_to_read(pthread_rwlock_t* l) { return next(next_rdlock, "pthread_rwlock_rdlock")(l); }
int lock_to_write(pthread_rwlock_t* l) { return next(next_wrlock, "pthread_rwlock_wrlock")(l); }

// Semaphores say what went wrong in errno.
int code_of(int result) { return result == 0 ? 0 : errno; }
int result_of(int code) {
  if (code == 0) return 0;
  errno = code;
  return -1;
}
int try_semaphore(sem_t* s) { return code_of(next(next_sem_trywait, "sem_trywait")(s)); }

}  // namespace
}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int pthread_mutex_lock(pthread_mutex_t* m) noexcept {
  if (!threads.orders_locks(CALLER)) [[likely]] return lock_mutex(m);
  return acquire(Operation::lock, "pthread_mutex_lock", [=] { return lock_mutex(m); });
}

HOLDFAST_REPLACES int pthread_mutex_trylock(pthread_mutex_t* m) noexcept {
  auto* real = next(next_mutex_trylock, "pthread_mutex_trylock");
  if (!threads.orders_locks(CALLER)) return real(m);
  return attempt_at_once("pthread_mutex_trylock", [=] { return real(m); });
}

HOLDFAST_REPLACES int pthread_mutex_timedlock(pthread_mutex_t* m, const timespec* until) noexcept {
  const Until at(CALLER, CLOCK_REALTIME, until);
  auto* real = next(next_mutex_timedlock, "pthread_mutex_timedlock");
  if (!threads.orders_locks(CALLER)) return real(m, until);
  return attempt_until("pthread_mutex_timedlock", until, [=](const timespec* at_most) { return real(m, at_most); });
}

HOLDFAST_REPLACES int pthread_mutex_clocklock(pthread_mutex_t* m, clockid_t clock, const timespec* until) noexcept {
  const Until at(CALLER, clock, until);
  auto* real = next(next_mutex_clocklock, "pthread_mutex_clocklock");
  if (!threads.orders_locks(CALLER)) return real(m, clock, until);
  return attempt_until("pthread_mutex_clocklock", until, [=](const timespec* at_most) { return real(m, clock, at_most); });
}

HOLDFAST_REPLACES int pthread_spin_lock(pthread_spinlock_t* l) noexcept {
  auto* real = next(next_spin_lock, "pthread_spin_lock");
  if (!threads.orders_locks(CALLER)) return real(l);
  return acquire(Operation::lock, "pthread_spin_lock", [=] { return real(l); });
}

HOLDFAST_REPLACES int pthread_spin_trylock(pthread_spinlock_t* l) noexcept {
  auto* real = next(next_spin_trylock, "pthread_spin_trylock");
  if (!threads.orders_locks(CALLER)) return real(l);
  return attempt_at_once("pthread_spin_trylock", [=] { return real(l); });
}

HOLDFAST_REPLACES int pthread_rwlock_rdlock(pthread_rwlock_t* l) noexcept {
  if (!threads.orders_locks(CALLER)) return lock_to_read(l);
  return acquire(Operation::lock, "pthread_rwlock_rdlock", [=] { return lock_to_read(l); });
}

HOLDFAST_REPLACES int pthread_rwlock_wrlock(pthread_rwlock_t* l) noexcept {
  if (!threads.orders_locks(CALLER)) return lock_to_write(l);
  return acquire(Operation::lock, "pthread_rwlock_wrlock", [=] { return lock_to_write(l); });
}

HOLDFAST_REPLACES int pthread_rwlock_tryrdlock(pthread_rwlock_t* l) noexcept {
  auto* real = next(next_tryrdlock, "pthread_rwlock_tryrdlock");
  if (!threads.orders_locks(CALLER)) return real(l);
  return attempt_at_once("pthread_rwlock_tryrdlock", [=] { return real(l); });
}

HOLDFAST_REPLACES int pthread_rwlock_trywrlock(pthread_rwlock_t* l) noexcept {
  auto* real = next(next_trywrlock, "pthread_rwlock_trywrlock");
  if (!threads.orders_locks(CALLER)) return real(l);
  return attempt_at_once("pthread_rwlock_trywrlock", [=] { return real(l); });
}

HOLDFAST_REPLACES int pthread_rwlock_timedrdlock(pthread_rwlock_t* l, const timespec* until) noexcept {
  const Until at(CALLER, CLOCK_REALTIME, until);
  auto* real = next(next_timedrdlock, "pthread_rwlock_timedrdlock");
  if (!threads.orders_locks(CALLER)) return real(l, until);
  return attempt_until("pthread_rwlock_timedrdlock", until, [=](const timespec* at_most) { return real(l, at_most); });
}

HOLDFAST_REPLACES int pthread_rwlock_timedwrlock(pthread_rwlock_t* l, const timespec* until) noexcept {
  const Until at(CALLER, CLOCK_REALTIME, until);
  auto* real = next(next_timedwrlock, "pthread_rwlock_timedwrlock");
  if (!threads.orders_locks(CALLER)) return real(l, until);
  return attempt_until("pthread_rwlock_timedwrlock", until, [=](const timespec* at_most) { return real(l, at_most); });
}

HOLDFAST_REPLACES int pthread_rwlock_clockrdlock(pthread_rwlock_t* l, clockid_t clock, const timespec* until) noexcept {
  const Until at(CALLER, clock, until);
  auto* real = next(next_clockrdlock, "pthread_rwlock_clockrdlock");
  if (!threads.orders_locks(CALLER)) return real(l, clock, until);
  return attempt_until("pthread_rwlock_clockrdlock", until, [=](const timespec* at_most) { return real(l, clock, at_most); });
}

HOLDFAST_REPLACES int pthread_rwlock_clockwrlock(pthread_rwlock_t* l, clockid_t clock, const timespec* until) noexcept {
  const Until at(CALLER, clock, until);
  auto* real = next(next_clockwrlock, "pthread_rwlock_clockwrlock");
  if (!threads.orders_locks(CALLER)) return real(l, clock, until);
  return attempt_until("pthread_rwlock_clockwrlock", until, [=](const timespec* at_most) { return real(l, clock, at_most); });
}

HOLDFAST_REPLACES int sem_wait(sem_t* s) {
  auto* real = next(next_sem_wait, "sem_wait");
  if (!threads.orders_locks(CALLER)) return real(s);
  return result_of(attempt("sem_wait", [=] { return code_of(real(s)); }, [=] { return try_semaphore(s); }));
}

HOLDFAST_REPLACES int sem_trywait(sem_t* s) noexcept {
  auto* real = next(next_sem_trywait, "sem_trywait");
  if (!threads.orders_locks(CALLER)) return real(s);
  return result_of(attempt_at_once("sem_trywait", [=] { return code_of(real(s)); }, EAGAIN));
}

HOLDFAST_REPLACES int sem_timedwait(sem_t* s, const timespec* until) {
  const Until at(CALLER, CLOCK_REALTIME, until);
  auto* real = next(next_sem_timedwait, "sem_timedwait");
  if (!threads.orders_locks(CALLER)) return real(s, until);
  return result_of(attempt_until("sem_timedwait", until, [=](const timespec* at_most) { return code_of(real(s, at_most)); }));
}

HOLDFAST_REPLACES int sem_clockwait(sem_t* s, clockid_t clock, const timespec* until) {
  const Until at(CALLER, clock, until);
  auto* real = next(next_sem_clockwait, "sem_clockwait");
  if (!threads.orders_locks(CALLER)) return real(s, clock, until);
  return result_of(attempt_until("sem_clockwait", until, [=](const timespec* at_most) { return code_of(real(s, clock, at_most)); }));
}

HOLDFAST_REPLACES int pthread_once(pthread_once_t* once, void (*what)()) {
  auto* real = next(next_once, "pthread_once");
  if (!threads.orders_locks(CALLER)) return real(once, what);
  return do_once("pthread_once", what, [=](void (*counted)()) { return real(once, counted); });
}
