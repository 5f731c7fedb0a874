#include "recorder/thread_order.hpp"

#include <string.h>

namespace hf::recorder {
namespace {

constexpr int outcome_shift = 16, operation_shift = 24;
constexpr const char* damaged = "the record of the order of threads is damaged, and they come in another one";

}  // namespace

// The next event of the order, if there is one.
bool ThreadOrder::read(Turn& turn) {
  turn = {};
  while (at_ && static_cast<std::size_t>(past_end_ - at_) >= sizeof(EventHead)) {
    EventHead head;
    memcpy(&head, at_, sizeof head);
    const std::uint64_t bytes = core::vprotocol::encoded_bytes(head);
    if (bytes > static_cast<std::uint64_t>(past_end_ - at_)) break;  // the reader of the other events says so
    at_ += bytes;
    if (head.kind != EventKind::turn) continue;
    turn.number = head.key >> ms_bits;
    turn.ms = head.key & span_max_ms;
    turn.thread = static_cast<ThreadNumber>(head.count);
    turn.outcome = static_cast<Outcome>(head.count >> outcome_shift & 0xff);
    turn.operation = static_cast<Operation>(head.count >> operation_shift);
    return true;
  }
  return false;
}

// Once over all of it, to know where it ends; then from the beginning, as it is consumed.
void ThreadOrder::load(const std::byte* past, std::size_t bytes, std::uint64_t last) {
  at_ = past;
  past_end_ = past + bytes;
  for (Turn turn; read(turn); past_callers_.note(turn.thread, turn.operation)) {
    if (turn.thread == given_up) given_up_ = true;
    else if (turn.number <= known_) owner_.diverged(damaged);
    else known_ = turn.thread == nobody ? turn.number - 1 : turn.number;
  }
  if (given_up_) return;
  end_ = known_;
  if (last >> ms_bits > end_) {
    end_ = last >> ms_bits;
    last_ms_ = last & span_max_ms;
  }
  at_ = past;
  read(ahead_);
  look_ahead();
}

// next_ has become another one. True: an event is of it.
bool ThreadOrder::look_ahead() {
  if (!replaying()) return true;
  bool any = false;
  for (; ahead_.number != 0 && ahead_.number <= next_; read(ahead_)) turn_ = ahead_, any = true;
  if (turn_.thread > thread_max || turn_.thread == no_thread) owner_.diverged(damaged);
  const std::uint64_t behind = ahead_.number != 0 ? ahead_.ms : last_ms_;
  span_ms_ = behind > turn_.ms ? behind : turn_.ms;
  return any;
}

bool ThreadOrder::Callers::note(ThreadNumber thread, Operation operation) {
  if (operation != Operation::mpi || thread > thread_max) return false;
  const bool is_first = first == no_thread, is_other = !several && !is_first && thread != first;
  if (is_first) first = thread;
  if (is_other) several = true;
  return is_first || is_other;
}

// What the past has without an event is recorded again: so that another one has it, should the word be lost with the node.
Outcome ThreadOrder::take(ThreadNumber thread, Operation operation, Outcome outcome, std::uint64_t now_ms) {
  const bool replays = replaying(), first_call = callers_.note(thread, operation);
  if (replays) outcome = turn_.outcome;
  const bool told = told_.number != 0 && told_.thread == thread && told_.outcome == outcome && !first_call;
  if (next_ > known_ && !told) append({next_, since(now_ms), thread, outcome, operation}, now_ms);
  ++next_;
  if (replays && look_ahead()) told_at_ms_ = now_ms;
  return outcome;
}

void ThreadOrder::append(const Turn& turn, std::uint64_t now_ms) {
  told_ = turn;
  told_at_ms_ = now_ms;
#ifndef HOLDFAST_MUTATE_DROP_TURN
  const auto count = static_cast<std::uint32_t>(turn.thread) | static_cast<std::uint32_t>(turn.outcome) << outcome_shift |
                     static_cast<std::uint32_t>(turn.operation) << operation_shift;
  const EventHead event{EventKind::turn, count, turn.number << ms_bits | turn.ms};
  owner_.append(&event, sizeof event);
#endif
}

void ThreadOrder::flush(std::uint64_t now_ms) {
#ifndef HOLDFAST_MUTATE_TURNS_NOT_FLUSHED
  if (told_.number == 0 || told_.number == next_ - 1) return;
  append({next_, since(now_ms), nobody, Outcome::done, Operation{}}, now_ms);
  told_ = {};
#endif
}

void ThreadOrder::give_up() {
  append({next_, 0, given_up, Outcome::done, Operation{}}, told_at_ms_);
  given_up_ = true;
  end_ = 0;
}

std::uint64_t ThreadOrder::since(std::uint64_t now_ms) const {
  const std::uint64_t ms = now_ms > told_at_ms_ ? now_ms - told_at_ms_ : 0;
  return ms < span_max_ms ? ms : span_max_ms;
}

}  // namespace hf::recorder
