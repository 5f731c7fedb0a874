// Sleeps and timers: at times that the program knows by its own clocks (until.hpp), and with signals to a thread that it knows by its number.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "recorder/ids.hpp"
#include "recorder/until.hpp"

namespace hf::recorder {
namespace {

int (*next_clock_nanosleep)(clockid_t, int, const timespec*, timespec*);
int (*next_clockjoin)(pthread_t, void**, clockid_t, const timespec*);
int (*next_timerfd_settime)(int, int, const itimerspec*, itimerspec*);
int (*next_timer_create)(clockid_t, sigevent*, timer_t*);
int (*next_timer_settime)(timer_t, int, const itimerspec*, itimerspec*);
int (*next_timer_delete)(timer_t);

// Timers of another kind had these names before.
template <class Function>
Function* next_timer(Function*& cached, const char* name) {
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.3.3"}) {
    if (!cached) cached = reinterpret_cast<Function*>(find_next(name, version));
  }
  return next(cached, name);
}

// Which clocks the program's timers go by, as far as there is room.
struct Timer {
  timer_t timer;
  clockid_t clock;
  bool used;
};
constexpr int timers_max = 256;
Timer timers[timers_max];
RankLock timers_lock;

Timer* find_timer(bool used, timer_t timer) {
  for (Timer& t : timers) {
    if (t.used == used && (!used || t.timer == timer)) return &t;
  }
  return nullptr;
}

void note_timer(timer_t timer, clockid_t clock) {
  timers_lock.lock();
  if (Timer* free = find_timer(false, timer)) *free = {timer, clock, true};
  timers_lock.unlock();
}

void forget_timer(timer_t timer) {
  timers_lock.lock();
  if (Timer* known = find_timer(true, timer)) known->used = false;
  timers_lock.unlock();
}

clockid_t clock_of(timer_t timer) {
  timers_lock.lock();
  const Timer* known = find_timer(true, timer);
  const clockid_t clock = known ? known->clock : CLOCK_REALTIME;
  timers_lock.unlock();
  return clock;
}

// A descriptor may have come from anywhere: the system says by which clock it goes.
clockid_t clock_of(int timer) {
  char bytes[512];
  ::snprintf(bytes, sizeof bytes, "/proc/self/fdinfo/%d", timer);
  const long fd = ::syscall(SYS_openat, AT_FDCWD, bytes, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return CLOCK_REALTIME;
  const long count = ::syscall(SYS_read, fd, bytes, sizeof bytes - 1);
  ::syscall(SYS_close, fd);
  bytes[count < 0 ? 0 : count] = 0;
  constexpr const char* name = "clockid:";
  const char* at = strstr(bytes, name);
  return at ? atoi(at + strlen(name)) : CLOCK_REALTIME;
}

// `set` is given what the system is to be told. No time at all ends the timer.
template <class Timer, class Set>
int set_until(const void* caller, Timer timer, bool absolute, const itimerspec* wanted, Set set) {
  const bool ends = !wanted || (wanted->it_value.tv_sec == 0 && wanted->it_value.tv_nsec == 0);
  if (!absolute || ends || !process.sets_clocks()) return set(wanted);
  const timespec* until = &wanted->it_value;
  const Until at(caller, clock_of(timer), until);
  const itimerspec system{wanted->it_interval, *until};
  return set(&system);
}

}  // namespace
}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int clock_nanosleep(clockid_t clock, int flags, const timespec* until, timespec* left) {
  auto* real = next(next_clock_nanosleep, "clock_nanosleep");
  if ((flags & TIMER_ABSTIME) == 0) return real(clock, flags, until, left);
  const Until at(CALLER, clock, until);
  return real(clock, flags, until, left);
}

HOLDFAST_REPLACES int pthread_clockjoin_np(pthread_t thread, void** result, clockid_t clock, const timespec* until) {
  const Until at(CALLER, clock, until);
  return next(next_clockjoin, "pthread_clockjoin_np")(thread, result, clock, until);
}

HOLDFAST_REPLACES int timerfd_settime(int timer, int flags, const itimerspec* wanted, itimerspec* had) noexcept {
  auto set = [=](const itimerspec* system) { return next(next_timerfd_settime, "timerfd_settime")(timer, flags, system, had); };
  return set_until(CALLER, timer, (flags & TFD_TIMER_ABSTIME) != 0, wanted, set);
}

HOLDFAST_REPLACES int timer_create(clockid_t clock, sigevent* event, timer_t* timer) noexcept {
  auto* real = next_timer(next_timer_create, "timer_create");
  sigevent meaning{};
  const bool names_thread = event && event->sigev_notify == SIGEV_THREAD_ID;
  if (names_thread) {
    meaning = *event;
    meaning._sigev_un._tid = meant(event->_sigev_un._tid);
  }
  const int result = real(clock, names_thread ? &meaning : event, timer);
  if (result == 0) note_timer(*timer, clock);
  return result;
}

HOLDFAST_REPLACES int timer_settime(timer_t timer, int flags, const itimerspec* wanted, itimerspec* had) noexcept {
  auto set = [=](const itimerspec* system) { return next_timer(next_timer_settime, "timer_settime")(timer, flags, system, had); };
  return set_until(CALLER, timer, (flags & TIMER_ABSTIME) != 0, wanted, set);
}

HOLDFAST_REPLACES int timer_delete(timer_t timer) noexcept {
  forget_timer(timer);
  return next_timer(next_timer_delete, "timer_delete")(timer);
}
