#include "recorder/host_clocks.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

namespace hf::recorder {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

std::int64_t read_clock(clockid_t clock) {
  timespec t{};
  ::syscall(SYS_clock_gettime, clock, &t);
  return t.tv_sec * second_ns + t.tv_nsec;
}

void add(std::uint64_t& hash, const char* bytes, long count) {
  for (long i = 0; i < count; ++i) hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 1099511628211u;
}

// Which host it is, since when, and in which of its spaces of time.
std::uint64_t hash_of_host() {
  std::uint64_t hash = 14695981039346656037u;
  char bytes[128];
  const long fd = ::syscall(SYS_openat, AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    add(hash, bytes, ::syscall(SYS_read, fd, bytes, sizeof bytes));
    ::syscall(SYS_close, fd);
  }
  add(hash, bytes, ::syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/time", bytes, sizeof bytes));
  return hash;
}

}  // namespace

HostClocks read_host_clocks() {
  HostClocks out;
  out.host = hash_of_host();
  const std::int64_t real = read_clock(CLOCK_REALTIME);
  out.monotonic = read_clock(CLOCK_MONOTONIC) - real;
  out.raw = read_clock(CLOCK_MONOTONIC_RAW) - real;
  out.boot = read_clock(CLOCK_BOOTTIME) - real;
  tms used;
  const std::int64_t per_second = ::sysconf(_SC_CLK_TCK);
  out.ticks = ::syscall(SYS_times, &used) * (second_ns / per_second) - real;
  return out;
}

}  // namespace hf::recorder
