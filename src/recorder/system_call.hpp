// A system call past the C library's syscall(), which the recorder replaces. As that one: -1 and errno where it fails.
#pragma once
#include <errno.h>
#include <unistd.h>

namespace hf::recorder {

inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
#if defined(__x86_64__)
  constexpr unsigned long errors = 4095;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  if (static_cast<unsigned long>(result) < -errors) return result;
  errno = static_cast<int>(-result);
  return -1;
#else
  return ::syscall(number, a, b, c, d, e, f);
#endif
}

}  // namespace hf::recorder
