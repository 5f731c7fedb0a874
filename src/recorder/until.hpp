// Absolute times that the program passes to the system: its clocks may be other ones than the system's, and what is waited for is the time of the system's.
#pragma once
#include <time.h>

#include "recorder/process.hpp"

namespace hf::recorder {

// While it lives, `until` is that time.
class Until {
 public:
  Until(const void* caller, clockid_t clock, const timespec*& until) {
    const std::int64_t ahead = until ? process.ahead_ns(caller, clock) : 0;
    if (ahead != 0 && shift(*until, ahead)) until = &system_;
  }

 private:
  static constexpr std::int64_t second_ns = 1'000'000'000;
  // False: it is no time, or none that comes.
  bool shift(const timespec& t, std::int64_t ahead) {
    if (t.tv_sec < 0 || t.tv_nsec < 0 || t.tv_nsec >= second_ns) return false;
    if (__builtin_sub_overflow(t.tv_sec, ahead / second_ns, &system_.tv_sec)) return false;
    system_.tv_nsec = t.tv_nsec - ahead % second_ns;
    if (system_.tv_nsec < 0) --system_.tv_sec, system_.tv_nsec += second_ns;
    if (system_.tv_nsec >= second_ns) ++system_.tv_sec, system_.tv_nsec -= second_ns;
    if (system_.tv_sec < 0) system_ = {0, 1};  // 0 means no time to some
    return true;
  }

  timespec system_;
};

}  // namespace hf::recorder
