// The library runs on a stack of its own, one for each thread that calls MPI: what it leaves there differs in a replay, and what the program finds
// in local variables that it has not written is to be the same again (docs/recovery.md). Every MPI function changes over to it (standard/entry.inc); the
// program's functions that MPI calls run on the program's stack, below the frame that called MPI.
//
// Where there is no such stack (another processor, a sanitizer, no memory for it) all runs on the program's.
#pragma once
#include <cstddef>

#include "abi/own_stack_bytes.inc"
#include "base/call_on_stack.hpp"

namespace hf::abi {

inline constexpr std::size_t own_stack_bytes = HOLDFAST_OWN_STACK_BYTES;

// A function of the program that MPI has called and that has not returned.
struct OutsideCall {
  OutsideCall* outer;
  std::byte* program_stack;  // of the MPI function that called it
  std::byte* own_stack;      // free below this
};

// standard/entry.inc reads the first three.
struct OwnStack {
  std::byte* free;           // where the next MPI function begins; null: choose_own_stack says
  std::byte* program_stack;  // of the MPI function that runs
  int* error_number;         // errno of this thread, set by choose_own_stack as what follows
  std::byte* begin;
  OutsideCall* innermost;
  bool none;
  int outside;  // functions of the program that MPI has called where there is no such stack

  bool holds(const void* address) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - begin) < own_stack_bytes && begin;
  }
};

extern "C" {
extern __thread OwnStack holdfast_own_stack [[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]];
// The stack for an MPI function that is called with this one; null: none.
[[gnu::visibility("hidden")]] std::byte* holdfast_choose_own_stack(std::byte* program_stack) noexcept;
}

// Whether an MPI function of this thread has called one of the program.
inline bool in_callback() { return holdfast_own_stack.innermost || holdfast_own_stack.outside > 0; }

// Changes over to the program's stack while it lives, so far as MPI functions that are called meanwhile are concerned.
class Outside {
 public:
  explicit Outside(OwnStack& own);
  ~Outside();
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
  std::byte* program_stack() const { return call_.program_stack; }

 private:
  OwnStack& own_;
  OutsideCall call_;
};

// call() on the program's stack; it may throw, and may leave by longjmp.
template <class Call>
auto on_program_stack(Call&& call) {
  OwnStack& own = holdfast_own_stack;
  if (!own.holds(__builtin_frame_address(0))) {
    struct Counted {
      int& count;
      ~Counted() { --count; }
    } const counted{++own.outside};
    return call();
  }
  const Outside outside(own);
  return call_on_stack(outside.program_stack(), call);
}

}  // namespace hf::abi
