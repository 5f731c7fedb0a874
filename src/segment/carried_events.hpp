// Determinants of a rank of another node that came with its messages, at level `node` (docs/node-loss.md): kept in the control segment of
// the rank that took them, for its agent, which is the holder. They stand where a rank of the same node would have its ring.
//
// One writer, the rank; a reader may look at any time, also after the writer's death. The sender sees to it that all but the last
// `capacity` bytes are in the agent's own memory.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "segment/control.hpp"

namespace hf::segment {

class CarriedEvents {
 public:
  static constexpr std::uint64_t capacity = 32 << 10;

  CarriedEvents(ControlView control, Rank of) : head_(reinterpret_cast<Head*>(control.ring(of))) {}

  // The writer: bytes of the rank's event stream from `position` on. False: they cannot be such, or their term is refused, and what depends on
  // them must not be taken. The agent first says which terms it refuses and then looks at what is here: so it is asked last.
  template <class RefusedBelow>
  bool take(Term term, std::uint64_t position, TestClock last_failed, Bytes bytes, RefusedBelow&& refused_below) {
    if (!store(term, position, last_failed, bytes)) return false;
    std::atomic_thread_fence(std::memory_order_seq_cst);
#ifdef HOLDFAST_MUTATE_TAKE_FENCED
    return true;
#endif
    return term >= refused_below();
  }

  // The reader: what is there of this term; empty when there is nothing.
  struct Piece {
    std::uint64_t position = 0;
    TestClock last_failed{};
    std::vector<std::byte> bytes;
  };
  Piece read(Term term) const;

 private:
  bool store(Term term, std::uint64_t position, TestClock last_failed, Bytes bytes);
  struct alignas(64) Head {
    std::uint64_t term_plus_1, begin, end, last_failed;
  };
  static_assert(sizeof(Head) + capacity <= ring_bytes);
  std::byte* place(std::uint64_t position) const { return reinterpret_cast<std::byte*>(head_ + 1) + position % capacity; }
  Head* head_;
};

}  // namespace hf::segment
