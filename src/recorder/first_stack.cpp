// What the program finds on its stack before it has written there, the same in each incarnation (docs/recovery.md, The program's memory): nothing of what
// the dynamic linker has left, as times, and the same value of the stack protector of gcc and clang, a random one for each process, which protected
// functions leave behind. Done before main, when no protected function runs: the dynamic linker's are not.
#include "recorder/process.hpp"

namespace hf::recorder {
namespace {

#if defined(__x86_64__)
constexpr std::size_t left_bytes = 64 << 10;  // more than the dynamic linker uses

// Where the thread's own data have it (System V ABI for x86-64); new threads take it from there.
std::uint64_t system_guard() {
  std::uint64_t guard;
  asm volatile("mov %%fs:0x28, %0" : "=r"(guard));
  return guard;
}
void set_guard(std::uint64_t guard) { asm volatile("mov %0, %%fs:0x28" : : "r"(guard)); }

// Below the caller.
[[gnu::noinline, gnu::optimize("no-stack-protector")]] void clear_below() {
  char left[left_bytes];
  void* begin = left;
  std::size_t bytes = left_bytes;
  asm volatile("rep stosb" : "+D"(begin), "+c"(bytes) : "a"(0) : "memory");
}

[[gnu::constructor, gnu::optimize("no-stack-protector")]] void begin_program() {
  if (!process.records(nullptr)) return;
  std::uint64_t guard = 0;
  if (process.recording.replay_value(Call::stack_guard, guard)) set_guard(guard);
  else process.recording.record_value(Call::stack_guard, system_guard());
  clear_below();
}
#endif

}  // namespace
}  // namespace hf::recorder
