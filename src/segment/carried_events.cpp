#include "segment/carried_events.hpp"

#include <algorithm>
#include <cstring>

namespace hf::segment {

bool CarriedEvents::store(Term term, std::uint64_t position, TestClock last_failed, Bytes bytes) {
  if (bytes.size() > capacity || position + bytes.size() < position) return false;
  const std::uint64_t named = std::uint64_t{term.value} + 1;
  if (named < head_->term_plus_1) return false;
  if (named > head_->term_plus_1) {  // the older hosting's were asked for before this one began
    store_release(head_->last_failed, std::uint64_t{0});
    store_release(head_->end, std::uint64_t{0});
    store_release(head_->begin, position);
    store_release(head_->end, position);
    store_release(head_->term_plus_1, named);
  } else if (position > head_->end) {  // what was here is in the agent's memory
    store_release(head_->begin, position);
    store_release(head_->end, position);
  }
  // What is known stands here already, the same.
  const std::uint64_t known = std::min<std::uint64_t>(head_->end - position, bytes.size());
  for (std::uint64_t at = position + known; at < position + bytes.size();) {
    const std::uint64_t n = std::min(position + bytes.size() - at, capacity - at % capacity);
    std::memcpy(place(at), bytes.data() + (at - position), n);
    at += n;
  }
  // In this order: the test was made with no more than these events.
  store_release(head_->end, std::max(head_->end, position + bytes.size()));
  store_release(head_->last_failed, std::max(head_->last_failed, last_failed.value));
  return true;
}

CarriedEvents::Piece CarriedEvents::read(Term term) const {
  Piece piece;
  if (load_acquire(head_->term_plus_1) != std::uint64_t{term.value} + 1) return piece;
  piece.last_failed = TestClock{load_acquire(head_->last_failed)};
  const std::uint64_t end = load_acquire(head_->end), begin = load_acquire(head_->begin);
  if (begin >= end) return piece;
  piece.position = std::max(begin, end - std::min(end, capacity));
  piece.bytes.resize(end - piece.position);
  for (std::uint64_t at = piece.position; at < end;) {
    const std::uint64_t n = std::min(end - at, capacity - at % capacity);
    std::memcpy(piece.bytes.data() + (at - piece.position), place(at), n);
    at += n;
  }
  return piece;
}

}  // namespace hf::segment
