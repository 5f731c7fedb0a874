// The process's number stays that of the first incarnation, wherever the program shows it; where the program passes it on to the
// system, it is the real one that is meant.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "recorder/aside.hpp"
#include "recorder/ids.hpp"

namespace hf::recorder {
namespace {

struct Number {
  pid_t shown = 0, real = 0;  // 0: not asked for yet
};
Number own;
constexpr int others_max = 8;
Number others[others_max];  // parents, while they were the process that is recorded

pid_t system_pid() { return static_cast<pid_t>(::syscall(SYS_getpid)); }

void remember(Number number) {
  if (number.shown == number.real) return;
  for (Number& other : others) {
    if (other.shown != 0 && other.shown != number.shown) continue;
    other = number;
    return;
  }
}

pid_t show() {
  return aside([] {
    LibcOperation operation("getpid");
    if (!operation.records()) return system_pid();
    if (own.shown != 0) return own.shown;
    own.real = system_pid();
    std::uint64_t value = static_cast<std::uint64_t>(own.real);
    if (!process.recording.replay_value(Call::process_id, value)) process.recording.record_value(Call::process_id, value);
    return own.shown = static_cast<pid_t>(value);
  });
}

id_t meant_by(int which, id_t who) {
  return which == PRIO_PROCESS || which == PRIO_PGRP ? static_cast<id_t>(meant(static_cast<pid_t>(who))) : who;
}

int (*next_getpriority)(int, id_t);
int (*next_setpriority)(int, id_t, int);
int (*next_sched_getaffinity)(pid_t, size_t, cpu_set_t*);
int (*next_sched_setaffinity)(pid_t, size_t, const cpu_set_t*);
int (*next_sched_getscheduler)(pid_t);
int (*next_sched_setscheduler)(pid_t, int, const sched_param*);
int (*next_sched_getparam)(pid_t, sched_param*);
int (*next_sched_setparam)(pid_t, const sched_param*);
int (*next_sched_rr_get_interval)(pid_t, timespec*);
int (*next_prlimit)(pid_t, __rlimit_resource, const rlimit*, rlimit*);
int (*next_sigqueue)(pid_t, int, sigval);
int (*next_clock_getcpuclockid)(pid_t, clockid_t*);
int (*next_fcntl)(int, int, ...);
ssize_t (*next_process_vm_readv)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);
ssize_t (*next_process_vm_writev)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);
int (*next_pidfd_open)(pid_t, unsigned);

// What the system calls it. Of a group where it is negative.
pid_t shown(const void* caller, pid_t pid) {
  if (pid < 0) return -shown(caller, -pid);
  if (pid == system_pid() && process.records(caller)) return show();
  return own.shown != 0 && pid == own.real ? own.shown : pid;
}

}  // namespace

void begin_process_ids() {
  remember(own);
  own = {};
}

// Of a process or, where it is negative, of a group. In a child of fork that is not the rank the number shown means its parent.
pid_t meant(pid_t pid) {
  const pid_t number = pid < -1 ? -pid : pid;
  if (number <= 0) return pid;
  auto real = [=](const Number& known) { return known.shown == number ? known.real : 0; };
  pid_t found = real(own);
  for (int i = 0; i < others_max && found == 0; ++i) found = real(others[i]);
  if (found == 0) return pid;
  return pid < 0 ? -found : found;
}

}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES pid_t getpid() noexcept {
  if (process.records(__builtin_return_address(0))) return show();
  const pid_t real = system_pid();
  // The parent of the rank was shown a number before it forked, and keeps it.
  return !process.may_record() && own.shown != 0 && real == own.real ? own.shown : real;
}

HOLDFAST_REPLACES pid_t gettid() noexcept {
  const auto thread = static_cast<pid_t>(::syscall(SYS_gettid));
  if (!process.records(__builtin_return_address(0)) || thread != system_pid()) return thread;
  return show();
}

HOLDFAST_REPLACES pid_t getppid() noexcept {
  const bool records = process.records(__builtin_return_address(0));
  return aside([records] {
    const auto real = static_cast<pid_t>(::syscall(SYS_getppid));
    std::uint64_t value = static_cast<std::uint64_t>(real);
    LibcOperation operation("getppid", records);
    // A child that is no rank knows its parent by the number that this was shown.
    if (!operation.records()) return own.shown != 0 && real == own.real ? own.shown : real;
    if (!process.recording.replay_value(Call::parent_id, value)) process.recording.record_value(Call::parent_id, value);
    return static_cast<pid_t>(value);
  });
}

HOLDFAST_REPLACES int kill(pid_t pid, int signal) noexcept { return static_cast<int>(::syscall(SYS_kill, meant(pid), signal)); }

HOLDFAST_REPLACES int killpg(pid_t group, int signal) noexcept {
  if (group >= 0) return static_cast<int>(::syscall(SYS_kill, meant(-group), signal));
  errno = EINVAL;
  return -1;
}

HOLDFAST_REPLACES int tgkill(pid_t group, pid_t thread, int signal) noexcept {
  return static_cast<int>(::syscall(SYS_tgkill, meant(group), meant(thread), signal));
}

HOLDFAST_REPLACES pid_t getpgid(pid_t pid) noexcept { return shown(CALLER, static_cast<pid_t>(::syscall(SYS_getpgid, meant(pid)))); }

HOLDFAST_REPLACES pid_t getpgrp() noexcept { return shown(CALLER, static_cast<pid_t>(::syscall(SYS_getpgid, 0))); }

HOLDFAST_REPLACES int setpgid(pid_t pid, pid_t group) noexcept {
  return static_cast<int>(::syscall(SYS_setpgid, meant(pid), meant(group)));
}

HOLDFAST_REPLACES pid_t getsid(pid_t pid) noexcept { return shown(CALLER, static_cast<pid_t>(::syscall(SYS_getsid, meant(pid)))); }

HOLDFAST_REPLACES int sigqueue(pid_t pid, int signal, const sigval value) noexcept {
  return next(next_sigqueue, "sigqueue")(meant(pid), signal, value);
}

HOLDFAST_REPLACES int getpriority(int which, id_t who) noexcept {
  return next(next_getpriority, "getpriority")(which, meant_by(which, who));
}

HOLDFAST_REPLACES int setpriority(int which, id_t who, int priority) noexcept {
  return next(next_setpriority, "setpriority")(which, meant_by(which, who), priority);
}

HOLDFAST_REPLACES int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t* set) noexcept {
  return next(next_sched_getaffinity, "sched_getaffinity")(meant(pid), bytes, set);
}

HOLDFAST_REPLACES int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t* set) noexcept {
  return next(next_sched_setaffinity, "sched_setaffinity")(meant(pid), bytes, set);
}

HOLDFAST_REPLACES int sched_getscheduler(pid_t pid) noexcept { return next(next_sched_getscheduler, "sched_getscheduler")(meant(pid)); }

HOLDFAST_REPLACES int sched_setscheduler(pid_t pid, int policy, const sched_param* wanted) noexcept {
  return next(next_sched_setscheduler, "sched_setscheduler")(meant(pid), policy, wanted);
}

HOLDFAST_REPLACES int sched_getparam(pid_t pid, sched_param* had) noexcept {
  return next(next_sched_getparam, "sched_getparam")(meant(pid), had);
}

HOLDFAST_REPLACES int sched_setparam(pid_t pid, const sched_param* wanted) noexcept {
  return next(next_sched_setparam, "sched_setparam")(meant(pid), wanted);
}

HOLDFAST_REPLACES int sched_rr_get_interval(pid_t pid, timespec* t) noexcept {
  return next(next_sched_rr_get_interval, "sched_rr_get_interval")(meant(pid), t);
}

HOLDFAST_REPLACES int prlimit(pid_t pid, __rlimit_resource what, const rlimit* wanted, rlimit* had) noexcept {
  return next(next_prlimit, "prlimit")(meant(pid), what, wanted, had);
}

static_assert(sizeof(rlimit) == sizeof(rlimit64), "one layout under both names");
HOLDFAST_REPLACES int prlimit64(pid_t pid, __rlimit_resource what, const rlimit64* wanted, rlimit64* had) noexcept {
  return next(next_prlimit, "prlimit")(meant(pid), what, reinterpret_cast<const rlimit*>(wanted), reinterpret_cast<rlimit*>(had));
}

HOLDFAST_REPLACES int clock_getcpuclockid(pid_t pid, clockid_t* clock) noexcept {
  return next(next_clock_getcpuclockid, "clock_getcpuclockid")(meant(pid), clock);
}

HOLDFAST_REPLACES ssize_t process_vm_readv(pid_t pid, const iovec* to, unsigned long to_count, const iovec* from, unsigned long from_count,
                                           unsigned long flags) noexcept {
  return next(next_process_vm_readv, "process_vm_readv")(meant(pid), to, to_count, from, from_count, flags);
}

HOLDFAST_REPLACES ssize_t process_vm_writev(pid_t pid, const iovec* from, unsigned long from_count, const iovec* to, unsigned long to_count,
                                            unsigned long flags) noexcept {
  return next(next_process_vm_writev, "process_vm_writev")(meant(pid), from, from_count, to, to_count, flags);
}

HOLDFAST_REPLACES int pidfd_open(pid_t pid, unsigned flags) noexcept { return next(next_pidfd_open, "pidfd_open")(meant(pid), flags); }

// Who is sent the signals of a descriptor.
#define HOLDFAST_REPLACES_FCNTL(name)                                                              \
  HOLDFAST_REPLACES int name(int fd, int command, ...) {                                           \
    va_list arguments;                                                                             \
    va_start(arguments, command);                                                                  \
    long argument = va_arg(arguments, long); /* or a pointer, an int, or nothing */                \
    va_end(arguments);                                                                             \
    if (command == F_SETOWN) argument = meant(static_cast<pid_t>(argument));                       \
    const int result = next(next_fcntl, "fcntl")(fd, command, argument);                           \
    return command == F_GETOWN && result != -1 ? shown(CALLER, result) : result;                   \
  }
HOLDFAST_REPLACES_FCNTL(fcntl)
HOLDFAST_REPLACES_FCNTL(fcntl64)
