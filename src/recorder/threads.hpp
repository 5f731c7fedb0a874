// The threads of this process: their numbers, and whose turn it is to call MPI or to take a lock (docs/threads.md). There is one object, made
// by nobody, as process.hpp's.
#pragma once
#include <errno.h>
#include <time.h>

#include "recorder/rank_lock.hpp"
#include "recorder/thread_order.hpp"
#include "wire/recorder.hpp"

namespace hf::recorder {

// Of the calling thread.
struct Self {
  ThreadNumber number = no_thread;
  const void* handler = nullptr;  // the frame below which a signal handler runs
};
extern thread_local constinit Self self [[gnu::tls_model("initial-exec")]];

// A handler may have been left by siglongjmp.
[[gnu::always_inline]] inline bool inside_handler() {
  if (!self.handler) [[likely]] return false;
  if (__builtin_frame_address(0) < self.handler) return true;
  self.handler = nullptr;
  return false;
}

class Threads {
 public:
  constexpr Threads();

  // In the main thread: MPI_Init_thread has provided SERIALIZED, or the user wants it. Threads are ordered once there is a second one, which the
  // owner is told. Null: they are not ordered.
  void decide(const wire::ThreadOwner* owner);
  bool undecided() const { return !__atomic_load_n(&decided_, __ATOMIC_ACQUIRE); }
  void order_if_several();                     // the owner would not have it then
  void end_order();                            // they run freely. The lock is held
  void stop();  // in a child of fork

  // What the calling thread does is an operation. Not what the MPI library calls.
  [[gnu::always_inline]] bool orders(const void* caller) const {
    if (!__atomic_load_n(&ordered_, __ATOMIC_ACQUIRE)) [[likely]] return false;
    return orders_this_thread() && !is_of_library(caller);
  }
  // As orders(), of a lock or of what else is given to one thread after the other.
  [[gnu::always_inline]] bool orders_locks(const void* caller) const {
#ifdef HOLDFAST_MUTATE_LOCKS_NOT_ORDERED
    return false;
#endif
    return orders(caller);
  }
  bool ordered() const { return __atomic_load_n(&ordered_, __ATOMIC_ACQUIRE); }
  bool orders_this_thread() const { return ordered() && self.number != no_thread && !inside_handler(); }
  bool are_several() const { return __atomic_load_n(&made_, __ATOMIC_RELAXED) > 1; }  // or have been
  bool replaying() const { return __atomic_load_n(&replaying_, __ATOMIC_ACQUIRE); }

  // Waits until the next operation is this thread's. False: nothing is replayed (any more). `function`: for a user.
  bool await_turn(const char* function);
  // After await_turn has said true: what this thread had in the run before was not to be had at the `looks`-th look, from 0. Waits a moment. False: nothing
  // is replayed any more.
  bool await_release(const char* function, unsigned looks);
  // After await_turn: the outcome that the record has. After true alone.
  Outcome recorded_outcome() const { return order.outcome(); }
  // The operation is done, or begins. Returns its outcome: while replaying the recorded one.
  Outcome take(Operation operation, Outcome outcome = Outcome::done);
  void take_locked(Operation operation, Outcome& outcome);  // the lock is held

  // Something is done under the lock, as an operation: what the recorder records of the C library. False: it is not recorded.
  bool begin_libc(const char* function);
  void end_libc() { lock.unlock(); }

  // MPI calls.
  bool enter_call();  // takes the lock. False: the calling thread has no number
  void leave_call();
  int go_out();  // of a call, into a function of the program
  void come_back(int depth);
  void enter_nested();

  // Of a thread that is to be made by the calling one.
  ThreadNumber number_next();
  void flush();

  RankLock lock;
  ThreadOrder order;
  std::uintptr_t library_begin = 0, library_bytes = 0;  // calls from there are the MPI library's own

 private:
  bool is_of_library(const void* caller) const { return reinterpret_cast<std::uintptr_t>(caller) - library_begin < library_bytes; }
  void begin(const wire::ThreadOwner& owner);
  void order_from_now_on();
  void publish(std::uint64_t now_ms) { __atomic_store_n(owner_.word, order.word(now_ms), __ATOMIC_RELEASE); }
  void wake_waiting();
  void look_for_standstill(const char* function);
  void does_not_fit(const char* text);
  static void append(const void* event, std::size_t bytes);
  [[noreturn]] static void diverged(const char* what);

  bool decided_ = false, asked_ = false, ordered_ = false, replaying_ = false;
  ThreadNumber main_ = no_thread;
  std::uint32_t made_ = 1;  // threads, with the first one
  wire::ThreadOwner owner_{};
  std::uint32_t turn_word_ = 0;    // another one with each turn: who waits for one sleeps on it
  std::uint32_t waiting_ = 0;      // threads that do
  std::uint32_t inside_ = 0;       // threads inside MPI
  std::uint64_t moved_at_ms_ = 0;  // the last operation, or end of an MPI call, of the replay
};

extern Threads threads;

std::uint64_t coarse_ms();

// What the recorder records of the C library, of the main thread and, while threads are ordered, of others.
class LibcOperation {
 public:
  explicit LibcOperation(const char* function, bool records = true) : ordered_(records && threads.orders_this_thread()) {
    records_ = records;
    if (ordered_) [[unlikely]] records_ = threads.begin_libc(function);
  }
  bool records() const { return records_; }
  ~LibcOperation() {
    if (ordered_) [[unlikely]] threads.end_libc();
  }
  LibcOperation(const LibcOperation&) = delete;
  LibcOperation& operator=(const LibcOperation&) = delete;

 private:
  bool ordered_, records_;
};

// A lock is taken by `take`, however long that takes.
template <class Take>
auto acquire(Operation operation, const char* function, Take take) {
  threads.await_turn(function);
  const auto result = take();
  const int code = errno;
  threads.take(operation);
  errno = code;
  return result;
}

}  // namespace hf::recorder
