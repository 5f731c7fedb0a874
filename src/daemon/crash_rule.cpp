#include "daemon/crash_rule.hpp"

#include <signal.h>

#include <utility>

namespace hf::daemon {

bool is_own_signal(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL || signal == SIGABRT;
}

CrashRule::Verdict CrashRule::on_death(int signal, std::uint64_t call) {
  bool own = is_own_signal(signal);
  bool again = own && std::exchange(own_before_, own) && call == call_before_;
  own_before_ = own;
  call_before_ = call;
  if (again) return Verdict::faulty;
  if (restarts_ >= restarts_max_) return Verdict::too_many;
  ++restarts_;
  return Verdict::restart;
}

}  // namespace hf::daemon
