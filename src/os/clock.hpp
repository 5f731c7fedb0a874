// The monotonic clock, in nanoseconds. Comparable between processes of one machine.
#pragma once
#include <time.h>

#include "base/ids.hpp"

namespace hf::os {

inline Instant now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return Instant(std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec);
}

// Nanoseconds since 1970: comparable between machines as far as their clocks agree.
inline std::int64_t real_time_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_REALTIME, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

inline constexpr std::int64_t millisecond_ns = 1'000'000;
inline constexpr std::int64_t second_ns = 1'000'000'000;
inline Instant later(Instant from, std::int64_t ns) {
  return Instant(from.value + ns);
}

}  // namespace hf::os
