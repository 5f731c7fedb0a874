// How often a clock may be read whose every value is stored. A program that reads it over and over waits for a time: its reads are as far apart
// as that does not notice.
#pragma once
#include <algorithm>
#include <cstdint>

namespace hf {

class ClockPace {
 public:
  // Reads come less than `rapid_ns` apart: after `free_reads` in a row they are as far apart as `rapid_ns`; where nothing else is called between
  // them, a thousandth of the time that was waited so far, and at most `step_max_ns`.
  static constexpr std::int64_t rapid_ns = 1'000, step_max_ns = 50'000;
  static constexpr unsigned free_reads = 64;

  // The clock, at `now_ns`, is about to be read, in the program's call number `call`: when it may be, at the earliest.
  std::int64_t earliest(std::int64_t now_ns, std::uint64_t call) {
    const bool rapid = now_ns - last_ns_ < rapid_ns;
    if (!rapid) reads_ = 0;
    if (!rapid || call != last_call_ + 1) alone_since_ns_ = now_ns;
    last_call_ = call;
    if (++reads_ <= free_reads) return now_ns;
    return last_ns_ + std::clamp((now_ns - alone_since_ns_) / 1000, rapid_ns, step_max_ns);
  }
  void was_read(std::int64_t now_ns) { last_ns_ = now_ns; }

 private:
  std::int64_t last_ns_ = 0, alone_since_ns_ = 0;
  std::uint64_t last_call_ = 0;
  unsigned reads_ = 0;  // in a row, each soon after the one before
};

}  // namespace hf
