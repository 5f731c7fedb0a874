// Operations that may fail: to take a lock at once or within a time. In the replay they have the outcome that they had (docs/threads.md).
#pragma once
#include "recorder/threads.hpp"

namespace hf::recorder {

// Of an error number. Others follow from what the program does, and come again by themselves.
constexpr Outcome outcome_of(int code) {
  switch (code) {
    case EBUSY:
    case EAGAIN: return Outcome::busy;
    case ETIMEDOUT: return Outcome::time_over;
    case EINTR: return Outcome::interrupted;
    default: return Outcome::done;
  }
}
constexpr int code_of(Outcome outcome, int busy) {
  switch (outcome) {
    case Outcome::busy: return busy;
    case Outcome::time_over: return ETIMEDOUT;
    case Outcome::interrupted: return EINTR;
    default: return 0;
  }
}

// `tries` and `takes` return an error number; `takes` waits as long as it takes. `busy`: what it is called here.
template <class Try, class Take>
int attempt(const char* function, Try tries, Take takes, int busy = EBUSY) {
  if (!threads.await_turn(function)) {
    const int code = tries();
    threads.take(Operation::attempt, outcome_of(code));
    return code;
  }
  const Outcome recorded = threads.recorded_outcome();
  const int code = recorded == Outcome::done ? takes() : code_of(recorded, busy);
  threads.take(Operation::attempt, recorded);
  return code;
}

}  // namespace hf::recorder
