#include "abi/own_stack.hpp"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>

#include "base/map_apart.hpp"

namespace hf::abi {

extern "C" {
__thread OwnStack holdfast_own_stack;
}

namespace {

constexpr std::size_t guard_bytes = 1 << 16, page = 4096;

// The first thread's: like any other data of the library below the program's stack, as tools expect a called function's frame to be.
alignas(page) std::byte first[guard_bytes + own_stack_bytes];
std::atomic_flag first_is_taken;

void give_back(void* mapped) {
  holdfast_own_stack = {};
  ::munmap(mapped, guard_bytes + own_stack_bytes);
}

bool give_back_at_thread_end(void* mapped) {
  static pthread_key_t key;
  static const bool made = ::pthread_key_create(&key, give_back) == 0;
  return made && ::pthread_setspecific(key, mapped) == 0;
}

// Null: there is no memory for it.
std::byte* with_guard() {
  if (!first_is_taken.test_and_set()) {
    (void)::mprotect(first, guard_bytes, PROT_NONE);  // a page may be larger than ours: no guard then
    return first + guard_bytes;
  }
  void* mapped = map_apart(guard_bytes + own_stack_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK);
  if (mapped == MAP_FAILED) return nullptr;
  std::byte* begin = static_cast<std::byte*>(mapped) + guard_bytes;
  if (::mprotect(begin, own_stack_bytes, PROT_READ | PROT_WRITE) == 0 && give_back_at_thread_end(mapped)) return begin;
  ::munmap(mapped, guard_bytes + own_stack_bytes);
  return nullptr;
}

constexpr std::size_t left_bytes = 1024;  // for the frames between Outside and the program's function

// Free below the caller of `frame`.
std::byte* free_below(void* frame) {
  auto* stack = static_cast<std::byte*>(frame) - left_bytes;
  return stack - reinterpret_cast<std::uintptr_t>(stack) % 16;
}

}  // namespace

extern "C" std::byte* holdfast_choose_own_stack(std::byte* program_stack) noexcept {
  OwnStack& own = holdfast_own_stack;
  own.error_number = &errno;
  if (own.none || own.holds(program_stack)) return nullptr;
  if (!own.begin) {
    const int before = errno;
    own.begin = with_guard();
    own.none = !own.begin;
    errno = before;
    if (own.none) return nullptr;
  }
  // Whoever calls from there or above has left those by longjmp.
  while (own.innermost && own.innermost->program_stack <= program_stack) own.innermost = own.innermost->outer;
  if (own.innermost) return own.innermost->own_stack;
  own.free = own.begin + own_stack_bytes;
  return own.free;
}

Outside::Outside(OwnStack& own)
    : own_(own), call_{own.innermost, own.program_stack, free_below(__builtin_frame_address(0))} {
  own.innermost = &call_;
  own.free = nullptr;
}

Outside::~Outside() {
  own_.innermost = call_.outer;
  own_.program_stack = call_.program_stack;
  own_.free = call_.outer ? nullptr : own_.begin + own_stack_bytes;
}

}  // namespace hf::abi
