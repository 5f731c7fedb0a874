// System calls that a program makes by their numbers: random bytes are drawn so where an older C library has no getrandom. All others are the system's.
#include <stdarg.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include "recorder/process.hpp"
#include "recorder/random.hpp"
#include "recorder/system_call.hpp"

using namespace hf::recorder;

#if defined(__x86_64__)
HOLDFAST_REPLACES long syscall(long number, ...) noexcept {
  va_list arguments;
  va_start(arguments, number);
  long given[6];  // the last ones may not have been given, and are then anything
  for (long& one : given) one = va_arg(arguments, long);
  va_end(arguments);
  if (number == SYS_getrandom && process.records(CALLER)) {
    return draw_random(reinterpret_cast<void*>(given[0]), static_cast<std::size_t>(given[1]), static_cast<unsigned>(given[2]));
  }
  return system_call(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
#endif
