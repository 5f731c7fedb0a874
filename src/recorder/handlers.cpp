// Signal handlers: they run at another moment each time, so that what they read is not recorded. The system is given a handler of
// ours, which calls the program's.
#include <signal.h>

#include "recorder/process.hpp"

namespace hf::recorder {
namespace {

using Handler = void (*)(int, siginfo_t*, void*);

Handler handlers[NSIG];        // the program's
bool wants_info[NSIG];         // SA_SIGINFO, as the program set it

int (*next_sigaction)(int, const struct sigaction*, struct sigaction*);

void call_handler(int signal, siginfo_t* info, void* context) {
  const Handler handler = __atomic_load_n(&handlers[signal], __ATOMIC_ACQUIRE);
  const void* before = self.handler;
  self.handler = __builtin_frame_address(0);
  handler(signal, info, context);
  self.handler = before;
}

// The system goes by the handler, whatever SA_SIGINFO says.
bool is_function(const struct sigaction& action) {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN && action.sa_handler != SIG_ERR;
}

}  // namespace
}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES int sigaction(int signal, const struct sigaction* wanted, struct sigaction* had) noexcept {
  auto* real = next(next_sigaction, "sigaction");
  if (signal <= 0 || signal >= NSIG || !process.may_record()) return real(signal, wanted, had);
  const Handler before = handlers[signal];
  const bool wanted_info_before = wants_info[signal];
  struct sigaction ours, old;
  if (wanted && is_function(*wanted)) {
    ours = *wanted;
    wants_info[signal] = (wanted->sa_flags & SA_SIGINFO) != 0;
    __atomic_store_n(&handlers[signal], wanted->sa_sigaction, __ATOMIC_RELEASE);
    ours.sa_sigaction = call_handler;  // one that wants fewer arguments ignores the others
    ours.sa_flags |= SA_SIGINFO;
    wanted = &ours;
  }
  const int result = real(signal, wanted, &old);
  if (result != 0) {
    handlers[signal] = before;
    wants_info[signal] = wanted_info_before;
  } else if (had) {
    *had = old;
    if (old.sa_sigaction != call_handler) return result;
    had->sa_sigaction = before;
    if (!wanted_info_before) had->sa_flags &= ~SA_SIGINFO;
  }
  return result;
}

HOLDFAST_REPLACES sighandler_t signal(int number, sighandler_t handler) noexcept {
  struct sigaction wanted = {}, had;
  wanted.sa_handler = handler;
  wanted.sa_flags = SA_RESTART;
  ::sigemptyset(&wanted.sa_mask);
  return ::sigaction(number, &wanted, &had) == 0 ? had.sa_handler : SIG_ERR;
}
