#include "daemon/head_keeper.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "os/clock.hpp"
#include "os/process.hpp"

namespace hf::daemon {
namespace {

// So many heads running that lived no longer than this would not bring the job to its end either.
constexpr int short_lived_max = 50;
constexpr std::int64_t short_lived_ns = 10 * os::second_ns;
constexpr std::int64_t leave_ns = 3 * os::second_ns;  // agents, ssh and srun end by themselves
constexpr int look_ms = 5;

// All that have ended; of `head` how.
std::optional<int> reap(pid_t head) {
  std::optional<int> out;
  int status = 0;
  for (pid_t ended; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    if (ended == head) out = status;
  }
  return out;
}

// Its wait status. Signals for the job go to the head.
int wait_for(pid_t head, int signals) {
  for (;;) {
    if (auto status = reap(head)) return *status;
    pollfd look{signals, POLLIN, 0};
    ::poll(&look, 1, -1);
    signalfd_siginfo info;
    while (::read(signals, &info, sizeof info) == sizeof info) {
      if (static_cast<int>(info.ssi_signo) != SIGCHLD) ::kill(head, static_cast<int>(info.ssi_signo));
    }
  }
}

void end_what_is_left() {
  const Instant limit = os::later(os::now(), leave_ns);
  while (!os::children().empty() && os::now() < limit) {
    reap(0);
    ::poll(nullptr, 0, look_ms);
  }
  os::end_all_children();
}

}  // namespace

int keep_heads(HeadSeat seat, const std::function<int(HeadSeat)>& run_head) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  Result<os::UniqueFd> signals = os::catch_signals({SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2});
  if (!signals) return 1;
  int short_lived = 0;
  for (int status = 0;; ++seat.epoch) {
    const Instant began = os::now();
    const pid_t head = ::fork();
    if (head == 0) {  // signals stay blocked: the head reads them, also those that come before it is ready to
      signals->reset();
      return run_head(std::move(seat));
    }
    if (head > 0) status = wait_for(head, signals->get());
    short_lived = os::now().value - began.value < short_lived_ns ? short_lived + 1 : 0;
    if (head > 0 && WIFSIGNALED(status) && seat.facts->started && short_lived < short_lived_max) continue;
    seat.listener.fd.reset();  // agents that look for a head see that none comes
    end_what_is_left();
    if (head < 0) return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
}

}  // namespace hf::daemon
