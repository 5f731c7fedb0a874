#include "mpi/buffered.hpp"

#include <cstdlib>
#include <memory>
#include <new>

#include "base/check.hpp"
#include "mpi/session.hpp"

namespace hf::mpi {
namespace {

constexpr std::size_t slot_alignment = alignof(std::max_align_t);

std::size_t span_of(std::size_t bytes) {
  return (sizeof(BufferSlot) + bytes + slot_alignment - 1) / slot_alignment * slot_alignment;
}

}  // namespace

BufferSpace::BufferSpace(void* buffer, Count size, Keeps keeps) : buffer_(buffer), size_(size), keeps_(keeps) {
  if (automatic()) return;
  void* aligned = buffer;
  std::size_t room = static_cast<std::size_t>(size);
  if (!std::align(slot_alignment, 1, aligned, room)) return;  // too small for anything
  begin_ = static_cast<std::byte*>(aligned);
  end_ = begin_ + room / slot_alignment * slot_alignment;
}

BufferSpace::~BufferSpace() { HF_CHECK(idle()); }

BufferSlot* BufferSpace::link(BufferSlot** where, void* memory, std::size_t span) {
  BufferSlot* slot = new (memory) BufferSlot;
  slot->span = span;
  slot->serial = ++serial_;
  slot->next = *where;
  *where = slot;
  return slot;
}

BufferSlot* BufferSpace::take(std::size_t bytes) {
  sweep();
  const std::size_t span = span_of(bytes);
  if (automatic()) return take_own(span);
  const bool fits = begin_ && span <= static_cast<std::size_t>(end_ - begin_);
  // A protocol logs: what stands in the program's memory then is the same in a replay, and these slots are not.
  if (keeps_ == Keeps::apart) return fits ? take_own(span) : nullptr;
  std::byte* gap = begin_;
  for (BufferSlot** where = &first_;; where = &(*where)->next) {
    std::byte* gap_end = *where ? reinterpret_cast<std::byte*>(*where) : end_;
    if (static_cast<std::size_t>(gap_end - gap) >= span) return link(where, gap, span);
    if (!*where) break;
    gap = gap_end + (*where)->span;
  }
  return nullptr;
}

BufferSlot* BufferSpace::take_own(std::size_t span) {
  // Not the program's heap: in a replay, where sends are over at once, the buffer is not full at the same times.
  void* memory = ::operator new(span, std::nothrow);
  return memory ? link(&own_, memory, span) : nullptr;
}

void BufferSpace::sweep() {
  for (BufferSlot** list : {&first_, &own_}) {
    for (BufferSlot** where = list; *where;) {
      BufferSlot* slot = *where;
      if (!slot->op.done()) {
        where = &slot->next;
        continue;
      }
      *where = slot->next;
      release(slot->comm);
      slot->~BufferSlot();
      if (list == &own_) ::operator delete(slot);
    }
  }
}

bool BufferSpace::drained(std::uint64_t serial) const {
  for (const BufferSlot* list : {first_, own_}) {
    for (const BufferSlot* slot = list; slot; slot = slot->next) {
      if (slot->serial <= serial && !slot->op.done()) return false;
    }
  }
  return true;
}

BufferSpace* BufferSpaces::find(const Comm& comm) const {
  for (const auto& [owner, space] : of_comm) {
    if (owner == &comm) return space.get();
  }
  const Session* session = comm.group->session;
  return session && session->buffer ? session->buffer.get() : process.get();
}

}  // namespace hf::mpi
