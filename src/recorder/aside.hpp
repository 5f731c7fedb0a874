// What the recorder does for the main thread is done on a stack of its own: it has other things to do in a replay, and what the program finds in local
// variables that it has not written is to be the same again (docs/recovery.md, The program's memory).
#pragma once
#include <type_traits>

#include "base/call_on_stack.hpp"
#include "recorder/process.hpp"

namespace hf::recorder {

inline constexpr std::size_t aside_bytes = 256 << 10;
extern std::byte aside_stack[aside_bytes];

// Between the main thread, once there are others, and one that hears of the replay's end from MPI. It is taken before the lock of the rank.
class AsideLock {
 public:
  void lock();
  void unlock() {
    is_main_threads_ = false;
    __atomic_store_n(&taken_, false, __ATOMIC_RELEASE);
  }
  // Before this thread waits for its turn. True: it had it, and is to lock it again then.
  bool lay_down();

 private:
  bool taken_ = false, is_main_threads_ = false;
};
extern AsideLock aside_lock;

class LockedAside {
 public:
  explicit LockedAside(bool locks) : locks_(locks) {
    if (locks_) aside_lock.lock();
  }
  ~LockedAside() {
    if (locks_) aside_lock.unlock();
  }
  LockedAside(const LockedAside&) = delete;
  LockedAside& operator=(const LockedAside&) = delete;

 private:
  bool locks_;
};

// work(), of which this function's caller sees nothing but the result, and errno where that is negative. What another thread does stays on its stack, and
// what a signal handler does: it may have interrupted work that is done here, and have another stack.
template <class Work>
[[gnu::always_inline]] inline auto aside(Work work) {
  using Result = std::invoke_result_t<Work&>;
  const auto here = static_cast<std::size_t>(static_cast<const std::byte*>(__builtin_frame_address(0)) - aside_stack);
  if (!process.on_main_thread() || here < aside_bytes || inside_handler()) [[unlikely]] return work();
  const int before = errno;
  const LockedAside locked(threads.are_several());
  if constexpr (std::is_void_v<Result>) {
    call_on_stack(aside_stack + aside_bytes, work);
    errno = before;
  } else {
    const Result result = call_on_stack(aside_stack + aside_bytes, work);
    if (!(result < Result{})) errno = before;
    return result;
  }
}

}  // namespace hf::recorder
