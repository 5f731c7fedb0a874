// System calls that a program makes by their numbers: random bytes are drawn so where an older C library has no getrandom, and libstdc++ waits so until
// a time. All others are the system's.
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include "recorder/process.hpp"
#include "recorder/random.hpp"
#include "recorder/system_call.hpp"
#include "recorder/until.hpp"

#if defined(__x86_64__)
namespace hf::recorder {
namespace {

// Other waits are for a span of time.
bool waits_until(long operation) {
  const long command = operation & FUTEX_CMD_MASK;
  return command == FUTEX_WAIT_BITSET || command == FUTEX_WAIT_REQUEUE_PI || command == FUTEX_LOCK_PI2;
}

}  // namespace
}  // namespace hf::recorder

using namespace hf::recorder;

HOLDFAST_REPLACES long syscall(long number, ...) noexcept {
  va_list arguments;
  va_start(arguments, number);
  long given[6];  // the last ones may not have been given, and are then anything
  for (long& one : given) one = va_arg(arguments, long);
  va_end(arguments);
  if (number == SYS_getrandom && process.records(CALLER)) {
    return draw_random(reinterpret_cast<void*>(given[0]), static_cast<std::size_t>(given[1]), static_cast<unsigned>(given[2]));
  }
  if (number == SYS_futex && waits_until(given[1])) {
    auto until = reinterpret_cast<const timespec*>(given[3]);
    const Until at(CALLER, (given[1] & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, until);
    return system_call(number, given[0], given[1], given[2], reinterpret_cast<long>(until), given[4], given[5]);
  }
  return system_call(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
#endif
