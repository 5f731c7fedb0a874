// Waits for conditions. What counts is when a thread has the mutex again: in the replay nobody waits for a signal, which may have come before, or
// may come to nobody (docs/threads.md).
#pragma once
#include "recorder/attempt.hpp"

namespace hf::recorder {

// Behind the record it returns without a reason, as a wait for a condition may: the signal may have been given in the replay.
template <class Unlock, class Lock>
int wait_in_replay(const char* function, Unlock unlock, Lock lock) {
  if (const int code = unlock(); code != 0) return code;
  const bool recorded = threads.await_turn(function);
  const Outcome outcome = recorded ? threads.recorded_outcome() : Outcome::done;
  lock();
  return code_of(threads.take(Operation::condition, outcome), EBUSY);
}

// All return an error number. `wait`: lets the mutex go, and has it again.
template <class Wait, class Unlock, class Lock>
int wait_for_condition(const char* function, Wait wait, Unlock unlock, Lock lock) {
  if (threads.replaying()) return wait_in_replay(function, unlock, lock);
  const int code = wait();
  threads.take(Operation::condition, outcome_of(code));
  return code;
}

}  // namespace hf::recorder
