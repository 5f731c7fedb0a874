// A payload that both sides copy at once, each with its own core: the receiver reads it out of the sender's memory from the front, and
// the sender, while it waits for that, writes it into the receiver's from the back, piece by piece until they meet. The receiver offers in
// its control segment, the sender helps by its own: no word has two writers. docs/large-messages.md has the cases.
//
// A piece may be copied by both, which stores the same bytes twice, or by none: then the receiver reads it in the end. What must not happen
// is that the sender writes after the receiver has gone on.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "segment/control.hpp"

namespace hf::segment {

inline constexpr std::uint64_t joint_bytes_min = 96 << 10;  // a payload from here on is copied by both, where that is possible

struct JointPiece {
  std::uint64_t offset = 0, bytes = 0;  // of the payload
};

// Names one offer of one incarnation for ever: what was said of its predecessor's offers is not taken for this one's.
constexpr std::uint64_t joint_number(Incarnation receiver, std::uint64_t count) {
#ifdef HOLDFAST_MUTATE_INCARNATION_NOT_NAMED
  (void)receiver;
  return count & taken_mask;
#else
  return inbound_word(receiver, count);
#endif
}

// The receiver's side of one payload.
class JointReader {
 public:
  // `number`: of joint_number, each once. `from`, `into`: addresses of the payload in the sender and here. `ticket`: of the sender's exposure.
  JointReader(JointOffer& own, const JointHelp& help, std::uint64_t number, std::uint64_t from, std::uint64_t into, std::uint64_t bytes,
              std::uint64_t piece_bytes, std::uint64_t ticket)
      : own_(own), help_(help), number_(number), pieces_((bytes + piece_bytes - 1) / piece_bytes) {
    store_relaxed(own.from, from);
    store_relaxed(own.into, into);
    store_relaxed(own.bytes, bytes);
    store_relaxed(own.piece_bytes, piece_bytes);
    store_relaxed(own.ticket, ticket);
    store_relaxed(own.front, std::uint64_t{0});
    store_release(own.number, number);
  }

  // Whether the next piece from the front is the receiver's to read; false: the sender has got there.
  bool claim() {
    if (front_ == pieces_) return false;
    store_release(own_.front, front_ + 1);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // between claiming and looking at the other's claims, on both sides
    if (front_ >= back()) return false;
    ++front_;
    return true;
  }
  // The sender takes no more pieces from now on, but may still write the one that it has.
  void close() {
    store_release(own_.number, std::uint64_t{0});
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  bool is_being_written() const {
#ifdef HOLDFAST_MUTATE_WRITER_NOT_AWAITED
    return false;
#else
    return load_acquire(help_.active) == number_;
#endif
  }
  // After that: what stands from this piece on was written by the sender.
  std::uint64_t back() const {
    const bool takes_part = load_acquire(help_.active) == number_ || load_acquire(help_.last) == number_;
    return takes_part ? std::min(load_acquire(help_.back), pieces_) : pieces_;
  }
  std::uint64_t front() const { return front_; }  // so many pieces were the receiver's

 private:
  JointOffer& own_;
  const JointHelp& help_;
  std::uint64_t number_, pieces_, front_ = 0;
};

// The sender's side of the offer of one receiver.
class JointWriter {
 public:
  JointWriter(JointHelp& own, const JointOffer& offer) : own_(own), offer_(offer) {}

  // The number of an offer that this side has not looked at yet; 0: there is none.
  std::uint64_t offered() const {
    const std::uint64_t number = load_acquire(offer_.number);
    return number == load_relaxed(own_.last) ? 0 : number;
  }
  // From here to leave() the receiver waits. False: it has closed the offer meanwhile.
  bool join(std::uint64_t number) {
    number_ = number;
    const std::uint64_t bytes = load_relaxed(offer_.bytes), piece = load_relaxed(offer_.piece_bytes);
    next_ = piece == 0 ? 0 : (bytes + piece - 1) / piece;
    store_back();
    store_release(own_.active, number);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (stands()) return true;
    store_release(own_.active, std::uint64_t{0});
    return false;
  }
  std::uint64_t from() const { return load_relaxed(offer_.from); }
  std::uint64_t into() const { return load_relaxed(offer_.into); }
  std::uint64_t ticket() const { return load_relaxed(offer_.ticket); }

  // The next piece from the back; empty: the receiver has got there, or has closed the offer.
  std::optional<JointPiece> claim() {
    if (next_ == 0 || !stands()) return {};
    store_release(own_.back, next_ - 1);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (load_acquire(offer_.front) > next_ - 1) return store_back(), std::nullopt;
    --next_;
    const std::uint64_t piece = load_relaxed(offer_.piece_bytes), offset = next_ * piece;
    return JointPiece{offset, std::min(piece, load_relaxed(offer_.bytes) - offset)};
  }
  // The piece that was claimed last could not be written: the receiver reads it.
  void give_back() {
    ++next_;
    store_back();
  }
  void leave() {
    store_release(own_.last, number_);
    store_release(own_.active, std::uint64_t{0});
  }

 private:
  bool stands() const {
#ifdef HOLDFAST_MUTATE_CLOSED_OFFER_TAKEN
    return true;
#else
    return load_acquire(offer_.number) == number_;
#endif
  }
  void store_back() { store_release(own_.back, next_); }

  JointHelp& own_;
  const JointOffer& offer_;
  std::uint64_t number_ = 0, next_ = 0;
};

}  // namespace hf::segment
