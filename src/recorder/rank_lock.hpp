// The lock of a rank whose threads are ordered: who has it may count an operation, store an event and use the engine (docs/threads.md).
// Recursive. Not of the C library, whose locks are the program's.
#pragma once
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace hf::recorder {

inline void futex_wait(const std::uint32_t* word, std::uint32_t value, const timespec* at_most) {
  ::syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, at_most, nullptr, 0);
}
inline void futex_wake_all(const std::uint32_t* word) { ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0); }

class RankLock {
 public:
  void lock() {
    const void* self = __builtin_thread_pointer();
    if (__atomic_load_n(&owner_, __ATOMIC_RELAXED) == self) {
      ++depth_;
      return;
    }
    std::uint32_t expected = free;
    if (!__atomic_compare_exchange_n(&word_, &expected, held, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) wait();
    __atomic_store_n(&owner_, self, __ATOMIC_RELAXED);
    __atomic_store_n(&turns_, turns_ + 1, __ATOMIC_RELAXED);
    depth_ = 1;
  }
  void unlock() {
    if (--depth_ > 0) return;
    release();
  }
  bool is_mine() const { return __atomic_load_n(&owner_, __ATOMIC_RELAXED) == __builtin_thread_pointer(); }

  // By the thread that has it: others may have it now, and then this thread again.
  void offer() {
    if (__atomic_load_n(&word_, __ATOMIC_RELAXED) != awaited) [[likely]] return;
    const std::uint32_t turns = turns_;
    const int depth = lay_down();
    for (int i = 0; i < looks && __atomic_load_n(&turns_, __ATOMIC_RELAXED) == turns; ++i) ::sched_yield();
    take_up(depth);
  }
  // However often it was taken. To be taken up again as often.
  int lay_down() {
    const int depth = depth_;
    depth_ = 0;
    release();
    return depth;
  }
  void take_up(int depth) {
    lock();
    depth_ = depth;
  }

 private:
  static constexpr std::uint32_t free = 0, held = 1, awaited = 2;  // awaited: held, and somebody may sleep
  static constexpr int spins = 200, looks = 200;
  void release() {
    __atomic_store_n(&owner_, static_cast<const void*>(nullptr), __ATOMIC_RELAXED);
    if (__atomic_exchange_n(&word_, free, __ATOMIC_RELEASE) == awaited) ::syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  void wait() {
    for (int i = 0; i < spins; ++i) {
      std::uint32_t expected = free;
      if (__atomic_load_n(&word_, __ATOMIC_RELAXED) == free &&
          __atomic_compare_exchange_n(&word_, &expected, held, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return;
      }
      __builtin_ia32_pause();
    }
    while (__atomic_exchange_n(&word_, awaited, __ATOMIC_ACQUIRE) != free) futex_wait(&word_, awaited, nullptr);
  }
  std::uint32_t word_ = free, turns_ = 0;
  const void* owner_ = nullptr;
  int depth_ = 0;
};

}  // namespace hf::recorder
