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

// What was had in the run before. Not waited for in one go: who lets it go may need what the calling thread has, which nobody would learn of. Where the
// order is given up meanwhile, the program's own attempt counts.
template <class Try, class AtOnce>
int take_again(const char* function, Try tries, AtOnce at_once) {
  for (unsigned looks = 0;; ++looks) {
    const int code = at_once();
    if (outcome_of(code) == Outcome::done) return code;
    if (!threads.await_release(function, looks)) return tries();
  }
}

// `tries` and `at_once` return an error number; `at_once` does not wait. `busy`: what it is called here.
template <class Try, class AtOnce>
int attempt(const char* function, Try tries, AtOnce at_once, int busy = EBUSY) {
  if (!threads.await_turn(function)) {
    const int code = tries();
    threads.take(Operation::attempt, outcome_of(code));
    return code;
  }
  const Outcome recorded = threads.recorded_outcome();
  const int code = recorded == Outcome::done ? take_again(function, tries, at_once) : code_of(recorded, busy);
  threads.take(Operation::attempt, recorded);
  return code;
}
template <class Try>
int attempt_at_once(const char* function, Try tries, int busy = EBUSY) {
  return attempt(function, tries, tries, busy);
}

// `tries` is given the time at which it ends. At once: one that is over, and that is refused if the other one is.
template <class Try>
int attempt_until(const char* function, const timespec* until, Try tries) {
  auto at_once = [=] {
    const timespec past{0, until ? until->tv_nsec : 0};
    return tries(until ? &past : nullptr);
  };
  return attempt(function, [=] { return tries(until); }, at_once);
}

}  // namespace hf::recorder
