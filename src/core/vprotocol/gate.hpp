// The gate of pessimistic logging (design rule 3; paper 000, II.D): no frame that lets another process learn of this
// one's state leaves before every earlier determinant is stable. Pure. Frames are named by tokens of the caller.
//
// Drive: on_event() for each determinant appended; offer() for each frame; on_stable(n) when the first n events are
// stable; then poll_released() until it gives none. At level `process` an event is stable when it has been stored, so
// that the gate never holds anything there; the levels that wait for an event logger do.
#pragma once
#include <cstdint>
#include <deque>

#include "wire/frame.hpp"

namespace hf::core::vprotocol {

// Frames that carry the program's state. clear_to_send, data and credit say nothing that was not said before.
constexpr bool is_gated(wire::FrameKind kind) {
  using enum wire::FrameKind;
#ifdef HOLDFAST_MUTATE_UNGATED_RENDEZVOUS
  return kind == eager || kind == matched;
#else
  return kind == eager || kind == rendezvous || kind == matched;
#endif
}

class Gate {
 public:
  using Token = std::uint64_t;
  void on_event() { ++events_; }
  void on_stable(std::uint64_t events) { stable_ = events > stable_ ? events : stable_; }
  bool open() const { return stable_ >= events_; }
  // True: the frame may leave now. False: it is kept until the events before it are stable. Frames leave in the order
  // offered: one that is kept keeps back all that are offered after it, also those that need not be gated.
  bool offer(wire::FrameKind kind, Token token) {
    if (held_.empty() && (open() || !is_gated(kind))) return true;
    held_.push_back({is_gated(kind) ? events_ : 0, token});
    return false;
  }
  bool poll_released(Token& token) {
    if (held_.empty() || held_.front().needs > stable_) return false;
    token = held_.front().token;
    held_.pop_front();
    return true;
  }
  std::uint64_t events() const { return events_; }
  std::uint64_t stable() const { return stable_; }

 private:
  struct Held {
    std::uint64_t needs;  // number of events that must be stable
    Token token;
  };
  std::uint64_t events_ = 0, stable_ = 0;
  std::deque<Held> held_;
};

}  // namespace hf::core::vprotocol
