// In which order the threads of a rank call MPI, take locks, and make threads: recorded as events of the rank, and given again to its next
// incarnation (docs/threads.md). Pure; the caller lets one thread in at a time.
//
// Operations are numbered over all threads, from 1. In the replay a thread calls take() only when it is its turn.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/vprotocol/events.hpp"
#include "recorder/owner.hpp"

namespace hf::recorder {

using core::vprotocol::EventHead;
using core::vprotocol::EventKind;

// The numbers are part of the log's format.
enum class Operation : std::uint8_t {
  mpi = 1,    // a call begins
  creation,   // of a thread
  lock,       // a mutex, read-write lock, spin lock or semaphore is had
  attempt,    // the same, or not
  condition,  // waited for, and the mutex is had again
  barrier,    // come to
  once,
  open_mp,    // critical, locks
  single,     // come to
  libc        // a clock, random bytes, a process id
};

// Of an operation; anything that fits.
enum class Outcome : std::uint8_t { done = 0, busy, time_over, interrupted };

using ThreadNumber = std::uint16_t;
inline constexpr ThreadNumber no_thread = 0;          // it has no number
inline constexpr ThreadNumber nobody = 0xffff;        // of an event that tells of the operations before it alone
inline constexpr ThreadNumber given_up = 0xfffe;      // of one behind which threads are not ordered, nor were before
inline constexpr ThreadNumber thread_max = 0xfffd;

class ThreadOrder {
 public:
  explicit constexpr ThreadOrder(Owner owner) : owner_(owner) {}

  // The events of the predecessors; kept by the caller. `last`: the largest word() that one of them is known to have had.
  void load(const std::byte* past, std::size_t bytes, std::uint64_t last);
  void begin(std::uint64_t now_ms) { told_at_ms_ = now_ms; }  // operations are counted from now on

  bool replaying() const { return next_ <= end_; }
  std::uint64_t next() const { return next_; }  // the number of the next operation
  // While replaying: whose it is, with which outcome, and how long the run before took, at most, from one event to the next one here.
  ThreadNumber thread() const { return turn_.thread; }
  Outcome outcome() const { return turn_.outcome; }
  std::uint64_t span_ms() const { return span_ms_; }
  static constexpr std::uint64_t span_max_ms = (1u << 24) - 1;  // so long, or longer

  // While replaying: the run before did this too, as far as its events say.
  bool fits(ThreadNumber thread, Operation operation) const {
    return thread == turn_.thread && (turn_.number != next_ || operation == turn_.operation);
  }
  // The next operation is done by this thread. Returns its outcome: the recorded one, else the one given.
  Outcome take(ThreadNumber thread, Operation operation, Outcome outcome, std::uint64_t now_ms);
  // Appends an event for the operations that no event tells of.
  void flush(std::uint64_t now_ms);
  // For the reader of this incarnation's end: the number of the last operation << 24 | ms since the last event.
  std::uint64_t word(std::uint64_t now_ms) const { return (next_ - 1) << ms_bits | since(now_ms); }

  // Another thread than the first to call MPI has done so too: so far; or in the run before.
  bool several_call() const { return callers_.several; }
  bool several_called() const { return callers_.several || past_callers_.several; }
  // Nobody is to wait for a turn, now or in incarnations to come: what was recorded is void.
  void give_up();
  bool is_given_up() const { return given_up_; }

 private:
  struct Turn {
    std::uint64_t number = 0;  // 0: there is none
    std::uint64_t ms = 0;
    ThreadNumber thread = nobody;
    Outcome outcome = Outcome::done;
    Operation operation{};
  };
  static constexpr int ms_bits = 24;
  std::uint64_t since(std::uint64_t now_ms) const;
  bool read(Turn& turn);
  bool look_ahead();
  // Who has called MPI.
  struct Callers {
    ThreadNumber first = no_thread;
    bool several = false;
    bool note(ThreadNumber thread, Operation operation);  // true: it is the first, or the first other one: there is an event
  };
  void append(const Turn& turn, std::uint64_t now_ms);

  Owner owner_;
  const std::byte *at_ = nullptr, *past_end_ = nullptr;
  Turn turn_, ahead_;  // the event that the next operation follows, and the one behind it
  std::uint64_t next_ = 1;
  std::uint64_t known_ = 0, end_ = 0;  // the last operations of the past that events tell of, and that was
  std::uint64_t last_ms_ = 0;  // of the word that ends the past
  std::uint64_t span_ms_ = 0;
  Turn told_;  // by an event of this incarnation
  std::uint64_t told_at_ms_ = 0;  // when the last event was written, or replayed
  Callers callers_, past_callers_;
  bool given_up_ = false;
};

}  // namespace hf::recorder
