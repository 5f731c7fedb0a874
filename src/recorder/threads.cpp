#include "recorder/threads.hpp"

#include <stdio.h>
#include <stdlib.h>

#include "recorder/aside.hpp"
#include "recorder/process.hpp"

namespace hf::recorder {

thread_local constinit Self self;

constexpr Threads::Threads() : order({append, diverged}) {}

constinit Threads threads;

namespace {

constexpr std::uint64_t default_patience_ms = 10'000;
constexpr std::uint64_t slower = 4;  // a replay than the run before, at most, from one event to the next
constexpr unsigned spins = 50;       // looks before sleeping: at whose turn it is, or at what is to be had
constexpr timespec look_every{0, 100'000'000};
constexpr timespec try_again_soon{0, 50'000}, try_again_every{0, 1'000'000};

const char* patience_text = nullptr;

std::uint64_t patience_ms() {
  const long given = patience_text ? atol(patience_text) : 0;
  return given > 0 ? static_cast<std::uint64_t>(given) : default_patience_ms;
}

// The thread in which the program began.
void number_first_thread() {
  if (self.number == no_thread && ::syscall(SYS_gettid) == ::syscall(SYS_getpid)) self.number = 1;
}

int (*next_coarse_clock)(clockid_t, timespec*);

}  // namespace

std::uint64_t coarse_ms() {
  timespec t{};
  next(next_coarse_clock, "clock_gettime")(CLOCK_MONOTONIC_COARSE, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000 + static_cast<std::uint64_t>(t.tv_nsec) / 1'000'000;
}

void Threads::append(const void* event, std::size_t bytes) { process.append_event(event, bytes); }

void Threads::decide(const wire::ThreadOwner* owner) {
  if (owner) begin(*owner);
  __atomic_store_n(&decided_, true, __ATOMIC_RELEASE);
}

void Threads::begin(const wire::ThreadOwner& owner) {
  number_first_thread();
  if (order.is_given_up() || self.number == no_thread) return;
  owner_ = owner;
  main_ = self.number;
  asked_ = true;
  patience_text = ::getenv("HOLDFAST_THREAD_PATIENCE_MS");
  order.begin(coarse_ms());
  if (__atomic_load_n(&made_, __ATOMIC_ACQUIRE) > 1) order_from_now_on();
}

void Threads::order_from_now_on() {
  if (!owner_.several(owner_.self)) return;
  moved_at_ms_ = coarse_ms();
  __atomic_store_n(&replaying_, order.replaying(), __ATOMIC_RELEASE);
  __atomic_store_n(&ordered_, true, __ATOMIC_RELEASE);
}

void Threads::order_if_several() {
  lock.lock();
  if (asked_ && !ordered_ && made_ > 1) order_from_now_on();
  lock.unlock();
}

void Threads::stop() { asked_ = ordered_ = replaying_ = false; }

void Threads::end_order() {
  asked_ = false;
  __atomic_store_n(&ordered_, false, __ATOMIC_RELEASE);
  __atomic_store_n(&replaying_, false, __ATOMIC_RELEASE);
  wake_waiting();
}

bool Threads::await_turn(const char* function) {
  while (replaying()) {
    lock.lock();
    const bool over = !ordered_ || !order.replaying(), mine = !over && order.thread() == self.number;
    const std::uint32_t turn = turn_word_;
    if (!over && !mine) ++waiting_;
    lock.unlock();
    if (over || mine) return mine;
    for (unsigned i = 0; i < spins && __atomic_load_n(&turn_word_, __ATOMIC_ACQUIRE) == turn; ++i) ::sched_yield();
    futex_wait(&turn_word_, turn, &look_every);
    lock.lock();
    --waiting_;
    if (turn_word_ == turn) look_for_standstill(function);
    lock.unlock();
  }
  return false;
}

bool Threads::await_release(const char* function, unsigned looks) {
  if (looks < spins) {
    ::sched_yield();
    return replaying();
  }
  futex_wait(&turn_word_, __atomic_load_n(&turn_word_, __ATOMIC_ACQUIRE), looks < 2 * spins ? &try_again_soon : &try_again_every);
  lock.lock();
  look_for_standstill(function);
  lock.unlock();
  return replaying();
}

void Threads::wake_waiting() {
  __atomic_store_n(&turn_word_, turn_word_ + 1, __ATOMIC_RELEASE);
  if (waiting_ > 0) futex_wake_all(&turn_word_);
}

Outcome Threads::take(Operation operation, Outcome outcome) {
  lock.lock();
  take_locked(operation, outcome);
  lock.unlock();
  return outcome;
}

void Threads::take_locked(Operation operation, Outcome& outcome) {
  if (!ordered_) return;
  const bool replays = order.replaying();
  if (replays && !order.fits(self.number, operation)) return does_not_fit("a thread calls another function than in the run before");
  const std::uint64_t now = coarse_ms();
  const ThreadNumber before = order.thread();
  outcome = order.take(self.number, operation, outcome, now);
  publish(now);
  if (!replays) return;
  moved_at_ms_ = now;
  if (!order.replaying()) __atomic_store_n(&replaying_, false, __ATOMIC_RELEASE);
  if (!order.replaying() || order.thread() != before) wake_waiting();
}

bool Threads::begin_libc(const char* function) {
  const bool laid_down = aside_lock.lay_down();
  await_turn(function);
  if (laid_down) aside_lock.lock();
  lock.lock();
  Outcome none = Outcome::done;
  take_locked(Operation::libc, none);
  return self.number == main_ || (ordered_ && (!owner_.may_give_up || order.several_call()));
}

bool Threads::enter_call() {
  lock.lock();
  ++inside_;
  if (!ordered_ || self.number == no_thread) return false;
  Outcome none = Outcome::done;
  take_locked(Operation::mpi, none);
  return ordered_;
}

// A call may have begun before threads were ordered.
void Threads::leave_call() {
  if (!lock.is_mine()) return;
  --inside_;
  if (replaying_) moved_at_ms_ = coarse_ms();
  lock.unlock();
}

int Threads::go_out() {
  if (!lock.is_mine()) return 0;
  --inside_;
  return lock.lay_down();
}

void Threads::come_back(int depth) {
  if (depth == 0) return;
  lock.take_up(depth);
  ++inside_;
  if (replaying_) moved_at_ms_ = coarse_ms();
}

void Threads::enter_nested() {
  lock.lock();
  ++inside_;
}

ThreadNumber Threads::number_next() {
  number_first_thread();
#ifdef HOLDFAST_MUTATE_CREATION_NOT_NUMBERED
  const bool in_order = false;
#else
  const bool in_order = orders_this_thread();
#endif
  if (in_order) await_turn("pthread_create");
  lock.lock();
  const std::uint32_t number = made_ < thread_max ? ++made_ : no_thread;
  Outcome none = Outcome::done;
  if (in_order) take_locked(Operation::creation, none);
  if (asked_ && !ordered_) order_from_now_on();
  lock.unlock();
  return static_cast<ThreadNumber>(number);
}

void Threads::flush() {
  if (!ordered()) return;
  lock.lock();
  order.flush(coarse_ms());
  lock.unlock();
}

// The lock is held.
void Threads::look_for_standstill(const char* function) {
  if (!ordered_ || !order.replaying() || inside_ > 0 || order.span_ms() >= ThreadOrder::span_max_ms) return;
  const std::uint64_t waited = coarse_ms() - moved_at_ms_;
  if (waited < patience_ms() + slower * order.span_ms()) return;
  const unsigned own = self.number, whose = order.thread();
  const unsigned long long operation = order.next(), seconds = waited / 1000;
  char text[200];
  if (whose == own) {
    ::snprintf(text, sizeof text, "thread %u waits in %s for what it had there in the run before, as operation %llu, for %llu s", own, function, operation,
               seconds);
  } else {
    ::snprintf(text, sizeof text, "thread %u waits in %s for operation %llu, which is that of thread %u, for %llu s", own, function, operation, whose,
               seconds);
  }
  does_not_fit(text);
}

// The lock is held. Where MPI was the main thread's alone, nothing is lost with the order that programs without SERIALIZED have.
void Threads::does_not_fit(const char* text) {
  if (!owner_.may_give_up || order.several_called()) diverged(text);
  char note[400];
  ::snprintf(note, sizeof note, "its threads come in another order than before, which is not kept up from now on, since only one of them has called MPI: %s",
             text);
  order.give_up();
  end_order();
  owner_.note(owner_.self, note);
}

void Threads::diverged(const char* what) {
  char text[400];
  ::snprintf(text, sizeof text, "the replay of its threads does not go on: %s. They are ordered by something that is not recorded (docs/threads.md)",
             what);
  if (threads.owner_.end) threads.owner_.end(threads.owner_.self, text);
  ::fprintf(stderr, "holdfast: %s\n", text);
  ::_exit(1);
}

}  // namespace hf::recorder
