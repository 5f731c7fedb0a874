// A crash is not a bug, and a bug is not a crash (design rule 7): what to do when a rank died by a signal. Pure.
#pragma once
#include <cstdint>

namespace hf::daemon {

// Signals by which a program's own fault ends it.
bool is_own_signal(int signal);

class CrashRule {
 public:
  explicit CrashRule(int restarts_max) : restarts_max_(restarts_max) {}
  enum class Verdict { restart, faulty, too_many };
  // `call`: number of the MPI call last begun, 0 before the first.
  Verdict on_death(int signal, std::uint64_t call);
  int restarts() const { return restarts_; }

 private:
  int restarts_max_;
  int restarts_ = 0;
  bool own_before_ = false;
  std::uint64_t call_before_ = 0;
};

}  // namespace hf::daemon
