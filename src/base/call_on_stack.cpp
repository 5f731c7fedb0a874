// Not inline: the compiler, which sees no call in the assembler's text, would take it to throw nothing.
#include "base/call_on_stack.hpp"

namespace hf {

#if defined(__x86_64__)
[[gnu::naked]] void call_on_stack(void*, void (*)(void*), void*) {
  asm("push %rbp\n"
      ".cfi_def_cfa_offset 16\n"
      ".cfi_offset %rbp, -16\n"
      "mov %rsp, %rbp\n"
      ".cfi_def_cfa_register %rbp\n"
      "mov %rdi, %rsp\n"
      "mov %rdx, %rdi\n"
      "call *%rsi\n"
      "leave\n"
      ".cfi_restore %rbp\n"
      ".cfi_def_cfa %rsp, 8\n"
      "ret");
}
#else
void call_on_stack(void*, void (*call)(void*), void* argument) { call(argument); }
#endif

}  // namespace hf
