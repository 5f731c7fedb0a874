#include "base/map_apart.hpp"

#include <errno.h>
#include <sys/mman.h>

#include <cstdint>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace hf {
namespace {

// Of the 128 TiB that a process has; Linux places programs below 94 and above 126 TiB (x86-64, arm64 with 48 bits).
constexpr std::uintptr_t tib = std::uintptr_t{1} << 40, first = 20 * tib, last = 80 * tib;
constexpr std::uintptr_t usual_alignment = 1 << 16, huge_page = 1 << 21;
constexpr int tries_max = 16;

std::uintptr_t next_free = first;

// Addresses are used once, as long as they last; then again where they are free.
std::uintptr_t take(std::size_t bytes) {
  const std::uintptr_t alignment = bytes >= huge_page ? huge_page : usual_alignment;
  std::uintptr_t before = __atomic_load_n(&next_free, __ATOMIC_RELAXED), at;
  do {
    at = (before + alignment - 1) / alignment * alignment;
    if (bytes > last - at) at = first;
  } while (!__atomic_compare_exchange_n(&next_free, &before, at + bytes, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return at;
}

}  // namespace

void* map_apart(std::size_t bytes, int protection, int flags, int fd) noexcept {
  if (bytes > last - first) return errno = ENOMEM, MAP_FAILED;
  for (int i = 0; i < tries_max; ++i) {
    void* wanted = reinterpret_cast<void*>(take(bytes));
    void* at = ::mmap(wanted, bytes, protection, flags | MAP_FIXED_NOREPLACE, fd, 0);
    if (at == wanted) return at;
    if (at != MAP_FAILED) ::munmap(at, bytes);  // a kernel before 4.17
    else if (errno != EEXIST && errno != EINVAL) return at;
  }
  return ::mmap(nullptr, bytes, protection, flags, fd, 0);
}

}  // namespace hf
