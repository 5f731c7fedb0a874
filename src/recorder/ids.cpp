// The process's number stays that of the first incarnation, wherever the program shows it; where the program passes it on to the
// system, it is the real one that is meant.
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/aside.hpp"

namespace hf::recorder {
namespace {

pid_t shown_pid = 0, real_pid = 0;  // 0: not asked for yet

pid_t system_pid() { return static_cast<pid_t>(::syscall(SYS_getpid)); }

pid_t show() {
  return aside([] {
    LibcOperation operation("getpid");
    if (!operation.records()) return system_pid();
    if (shown_pid != 0) return shown_pid;
    real_pid = system_pid();
    std::uint64_t value = static_cast<std::uint64_t>(real_pid);
    if (!process.recording.replay_value(Call::process_id, value)) process.recording.record_value(Call::process_id, value);
    return shown_pid = static_cast<pid_t>(value);
  });
}

// In a child of fork the number shown means its parent.
pid_t meant(pid_t pid) { return pid != 0 && pid == shown_pid ? real_pid : pid; }
id_t meant(int which, id_t who) {
  return which == PRIO_PROCESS ? static_cast<id_t>(meant(static_cast<pid_t>(who))) : who;
}

int (*next_getpriority)(int, id_t);
int (*next_setpriority)(int, id_t, int);
int (*next_sched_getaffinity)(pid_t, size_t, cpu_set_t*);
int (*next_sched_setaffinity)(pid_t, size_t, const cpu_set_t*);
int (*next_prlimit)(pid_t, __rlimit_resource, const rlimit*, rlimit*);
int (*next_sigqueue)(pid_t, int, sigval);

}  // namespace
}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES pid_t getpid() noexcept { return process.records(__builtin_return_address(0)) ? show() : system_pid(); }

HOLDFAST_REPLACES pid_t gettid() noexcept {
  const auto thread = static_cast<pid_t>(::syscall(SYS_gettid));
  if (!process.records(__builtin_return_address(0)) || thread != system_pid()) return thread;
  return show();
}

HOLDFAST_REPLACES pid_t getppid() noexcept {
  const bool records = process.records(__builtin_return_address(0));
  return aside([records] {
    std::uint64_t value = static_cast<std::uint64_t>(::syscall(SYS_getppid));
    LibcOperation operation("getppid", records);
    if (operation.records() && !process.recording.replay_value(Call::parent_id, value)) {
      process.recording.record_value(Call::parent_id, value);
    }
    return static_cast<pid_t>(value);
  });
}

HOLDFAST_REPLACES int kill(pid_t pid, int signal) noexcept { return static_cast<int>(::syscall(SYS_kill, meant(pid), signal)); }

HOLDFAST_REPLACES int tgkill(pid_t group, pid_t thread, int signal) noexcept {
  return static_cast<int>(::syscall(SYS_tgkill, meant(group), meant(thread), signal));
}

HOLDFAST_REPLACES pid_t getpgid(pid_t pid) noexcept { return static_cast<pid_t>(::syscall(SYS_getpgid, meant(pid))); }

HOLDFAST_REPLACES pid_t getsid(pid_t pid) noexcept { return static_cast<pid_t>(::syscall(SYS_getsid, meant(pid))); }

HOLDFAST_REPLACES int sigqueue(pid_t pid, int signal, const sigval value) noexcept {
  return next(next_sigqueue, "sigqueue")(meant(pid), signal, value);
}

HOLDFAST_REPLACES int getpriority(int which, id_t who) noexcept {
  return next(next_getpriority, "getpriority")(which, meant(which, who));
}

HOLDFAST_REPLACES int setpriority(int which, id_t who, int priority) noexcept {
  return next(next_setpriority, "setpriority")(which, meant(which, who), priority);
}

HOLDFAST_REPLACES int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t* set) noexcept {
  return next(next_sched_getaffinity, "sched_getaffinity")(meant(pid), bytes, set);
}

HOLDFAST_REPLACES int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t* set) noexcept {
  return next(next_sched_setaffinity, "sched_setaffinity")(meant(pid), bytes, set);
}

HOLDFAST_REPLACES int prlimit(pid_t pid, __rlimit_resource what, const rlimit* wanted, rlimit* had) noexcept {
  return next(next_prlimit, "prlimit")(meant(pid), what, wanted, had);
}
