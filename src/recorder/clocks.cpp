// Clocks. Calls that give another's value, as time() that of the real-time clock, are recorded as reads of that one.
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "recorder/aside.hpp"
#include "recorder/onward.hpp"

// Of <sys/timeb.h>, which goes out of use.
struct timeb {
  time_t time;
  unsigned short millitm;
  short timezone, dstflag;
};

namespace hf::recorder {
namespace {

constexpr std::uint64_t second_ns = 1000000000;
constexpr std::int64_t second_us = 1000000;

int (*next_clock_gettime)(clockid_t, timespec*);
int (*next_gettimeofday)(timeval*, void*);
time_t (*next_time)(time_t*);
int (*next_timespec_get)(timespec*, int);
clock_t (*next_clock)();
clock_t (*next_times)(tms*);
int (*next_ftime)(timeb*);
int (*next_getrusage)(int, rusage*);
pid_t (*next_wait4)(pid_t, int*, int, rusage*);
int (*next_getitimer)(__itimer_which_t, itimerval*);
int (*next_setitimer)(__itimer_which_t, const itimerval*, itimerval*);

std::uint64_t read_system(std::uint32_t clock) {
  timespec t{};
  next(next_clock_gettime, "clock_gettime")(static_cast<clockid_t>(clock), &t);
  return static_cast<std::uint64_t>(t.tv_sec) * second_ns + static_cast<std::uint64_t>(t.tv_nsec);
}

// Of a thread that is not recorded, or of a handler.
std::uint64_t unrecorded(std::uint32_t clock) {
  const std::int64_t ns = static_cast<std::int64_t>(read_system(clock)) + process.recording.host_offset(clock);
  return ns < 0 ? 0 : static_cast<std::uint64_t>(ns);
}

std::uint64_t read_clock(std::uint32_t clock) {
  return aside([clock] {
    LibcOperation operation("the reading of a clock");
    if (!operation.records()) return unrecorded(clock);
    std::uint64_t ns = 0;
    if (!process.recording.replay_clock(clock, ns)) ns = process.recording.record_clock(clock, read_system(clock));
    process.publish_reads();
    return ns;
  });
}

// What a call wrote, if it succeeded: the same number of bytes each time. `go_on(value, replayed)`: no value goes back after the replay.
template <class Value, class GoOn>
void read_bytes(Call call, Value* value, const char* function, GoOn go_on) {
  aside([=] {
    std::size_t bytes = sizeof *value;
    LibcOperation operation(function);
    if (!operation.records()) return;
    const bool replayed = process.recording.replay_bytes(call, value, bytes);
    go_on(*value, replayed);
    if (!replayed) process.recording.record_bytes(call, value, bytes);
  });
}

// What depends on nothing that was said before.
template <class Value>
void read_bytes(Call call, Value* value, const char* function) {
  read_bytes(call, value, function, [](Value&, bool) {});
}

template <class Integer>
void go_on_with(Onward& onward, Integer& value, bool replayed, std::int64_t known = 0) {
  value = static_cast<Integer>(replayed ? onward.replayed(value) : onward.from_system(value, known));
}

void go_on_with(Onward& onward, timeval& value, bool replayed) {
  std::int64_t us = value.tv_sec * second_us + value.tv_usec;
  go_on_with(onward, us, replayed);
  value = {us / second_us, us % second_us};
}

// The process of the next incarnation has used less time than the program has been told.
struct Used {
  Onward user, system;
};
Used used_by[3];  // RUSAGE_CHILDREN, RUSAGE_SELF, RUSAGE_THREAD
Onward tick_count, used_ticks[4];

struct Times {
  clock_t ticks;
  tms used;
};

std::int64_t host_ticks() { return process.recording.host_offset_of_ticks() / (static_cast<std::int64_t>(second_ns) / ::sysconf(_SC_CLK_TCK)); }

void go_on_with_times(Times& now, bool replayed) {
  go_on_with(tick_count, now.ticks, replayed, host_ticks());
  clock_t* const used[] = {&now.used.tms_utime, &now.used.tms_stime, &now.used.tms_cutime, &now.used.tms_cstime};
  for (int i = 0; i < 4; ++i) go_on_with(used_ticks[i], *used[i], replayed);
}

// Where the program does not wait, whether a process has ended, and with it the number of events, differs from run to run.
pid_t wait_for_child(const void* caller, const char* function, pid_t child, int* status, int options, rusage* usage) {
  const pid_t ended = next(next_wait4, "wait4")(child, status, options, usage);
  if (ended > 0 && usage && (options & WNOHANG) == 0 && process.records(caller)) read_bytes(Call::child_usage, usage, function);
  return ended;
}

timespec to_timespec(std::uint64_t ns) { return {static_cast<time_t>(ns / second_ns), static_cast<long>(ns % second_ns)}; }

}  // namespace

void give_time(double* seconds) {
  if (process.records(nullptr)) read_bytes(Call::mpi_time, seconds, "MPI_Wtime");
}

}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int clock_gettime(clockid_t clock, timespec* t) noexcept {
  const auto number = static_cast<std::uint32_t>(clock);
  const void* caller = CALLER;
  if (number >= clock_count || !process.records(caller)) {
    if (number >= clock_count || !process.on_other_host(caller)) return next(next_clock_gettime, "clock_gettime")(clock, t);
    *t = to_timespec(unrecorded(number));
    return 0;
  }
  *t = to_timespec(read_clock(number));
  return 0;
}

HOLDFAST_REPLACES int gettimeofday(timeval* t, void* zone) noexcept {
  asm volatile("" : "+r"(t));  // declared not to be null, and null in programs that ask for the zone alone
  if (!t || !process.records(__builtin_return_address(0))) return next(next_gettimeofday, "gettimeofday")(t, zone);
  if (zone) next(next_gettimeofday, "gettimeofday")(nullptr, zone);
  const std::uint64_t ns = read_clock(CLOCK_REALTIME);
  t->tv_sec = static_cast<time_t>(ns / second_ns);
  t->tv_usec = static_cast<suseconds_t>(ns % second_ns / 1000);
  return 0;
}

HOLDFAST_REPLACES time_t time(time_t* t) noexcept {
  if (!process.records(__builtin_return_address(0))) return next(next_time, "time")(t);
  const auto seconds = static_cast<time_t>(read_clock(CLOCK_REALTIME) / second_ns);
  if (t) *t = seconds;
  return seconds;
}

HOLDFAST_REPLACES int ftime(timeb* t) {
  const int result = next(next_ftime, "ftime")(t);
  if (result != 0 || !process.records(CALLER)) return result;
  const std::uint64_t ns = read_clock(CLOCK_REALTIME);
  t->time = static_cast<time_t>(ns / second_ns);
  t->millitm = static_cast<unsigned short>(ns % second_ns / 1'000'000);
  return result;
}

HOLDFAST_REPLACES int timespec_get(timespec* t, int base) noexcept {
  if (base != TIME_UTC || !process.records(__builtin_return_address(0))) return next(next_timespec_get, "timespec_get")(t, base);
  *t = to_timespec(read_clock(CLOCK_REALTIME));
  return base;
}

HOLDFAST_REPLACES clock_t clock() noexcept {
  if (!process.records(__builtin_return_address(0))) return next(next_clock, "clock")();
  return static_cast<clock_t>(read_clock(CLOCK_PROCESS_CPUTIME_ID) / (second_ns / CLOCKS_PER_SEC));
}

HOLDFAST_REPLACES clock_t times(tms* t) noexcept {
  Times now{};
  now.ticks = next(next_times, "times")(&now.used);
  const void* caller = CALLER;
  if (now.ticks != static_cast<clock_t>(-1)) {
    if (process.records(caller)) read_bytes(Call::process_times, &now, "times", go_on_with_times);
    else if (process.on_other_host(caller)) now.ticks += host_ticks();
  }
  if (t) *t = now.used;
  return now.ticks;
}

HOLDFAST_REPLACES int getrusage(int whose, rusage* usage) noexcept {
  const int result = next(next_getrusage, "getrusage")(whose, usage);
  if (result != 0 || !process.records(__builtin_return_address(0))) return result;
  Used& used = used_by[whose - RUSAGE_CHILDREN];
  read_bytes(Call::usage, usage, "getrusage", [&used](rusage& now, bool replayed) {
    go_on_with(used.user, now.ru_utime, replayed);
    go_on_with(used.system, now.ru_stime, replayed);
  });
  return result;
}

HOLDFAST_REPLACES pid_t wait4(pid_t child, int* status, int options, rusage* usage) noexcept {
  return wait_for_child(CALLER, "wait4", child, status, options, usage);
}

HOLDFAST_REPLACES pid_t wait3(int* status, int options, rusage* usage) noexcept {
  return wait_for_child(CALLER, "wait3", WAIT_ANY, status, options, usage);
}

HOLDFAST_REPLACES int getitimer(__itimer_which_t which, itimerval* left) noexcept {
  const int result = next(next_getitimer, "getitimer")(which, left);
  if (result == 0 && process.records(CALLER)) read_bytes(Call::interval_timer, left, "getitimer");
  return result;
}

HOLDFAST_REPLACES int setitimer(__itimer_which_t which, const itimerval* wanted, itimerval* had) noexcept {
  const int result = next(next_setitimer, "setitimer")(which, wanted, had);
  if (result == 0 && had && process.records(CALLER)) read_bytes(Call::interval_timer, had, "setitimer");
  return result;
}
