#include "mpi/buffered.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace hf::mpi {
namespace {

struct Buffer {
  alignas(16) std::byte bytes[4096];
};

void finish(BufferSlot* slot) { slot->op.complete = true; }

TEST(BufferSpace, HoldsWhatTheStandardPromises) {
  // MPI 5.0, 3.6: packed size plus MPI_BSEND_OVERHEAD for each message, at any alignment of the buffer.
  for (std::size_t shift : {0u, 1u, 7u, 15u}) {
    Buffer memory;
    const std::size_t sizes[] = {0, 1, 100, 777};
    Count total = 0;
    for (std::size_t bytes : sizes) total += static_cast<Count>(bytes) + bsend_overhead;
    BufferSpace space(memory.bytes + shift, total);
    std::vector<BufferSlot*> slots;
    for (std::size_t bytes : sizes) {
      slots.push_back(space.take(bytes));
      ASSERT_NE(slots.back(), nullptr);
      EXPECT_GE(slots.back()->payload(), memory.bytes + shift);
      EXPECT_LE(slots.back()->payload() + bytes, memory.bytes + shift + total);
    }
    for (BufferSlot* slot : slots) finish(slot);
    space.sweep();
    EXPECT_TRUE(space.idle());
  }
}

TEST(BufferSpace, RefusesWhatDoesNotFit) {
  Buffer memory;
  BufferSpace space(memory.bytes, 600);
  EXPECT_EQ(space.take(600), nullptr);
  BufferSlot* slot = space.take(88);
  ASSERT_NE(slot, nullptr);
  EXPECT_EQ(space.take(400), nullptr);
  finish(slot);
  slot = space.take(400);  // complete slots are dropped on the way
  ASSERT_NE(slot, nullptr);
  finish(slot);
  space.sweep();
}

TEST(BufferSpace, UsesGapsBetweenSlots) {
  Buffer memory;
  BufferSpace space(memory.bytes, 4096);
  std::vector<BufferSlot*> slots;
  while (BufferSlot* slot = space.take(200)) slots.push_back(slot);
  ASSERT_GE(slots.size(), 4u);
  finish(slots[1]);
  BufferSlot* again = space.take(200);
  EXPECT_EQ(again, slots[1]);
  EXPECT_EQ(space.take(200), nullptr);
  for (BufferSlot* slot : slots) finish(slot);
  space.sweep();
  EXPECT_TRUE(space.idle());
}

TEST(BufferSpace, DrainedLooksAtEarlierMessagesOnly) {
  Buffer memory;
  BufferSpace space(memory.bytes, 4096);
  BufferSlot* first = space.take(8);
  const std::uint64_t mark = space.last_serial();
  BufferSlot* second = space.take(8);
  EXPECT_FALSE(space.drained(mark));
  finish(first);
  EXPECT_TRUE(space.drained(mark));
  EXPECT_FALSE(space.drained(space.last_serial()));
  finish(second);
  space.sweep();
}

TEST(BufferSpace, TooSmallForAnything) {
  Buffer memory;
  BufferSpace empty(memory.bytes, 0), tiny(memory.bytes + 1, 3);
  EXPECT_EQ(empty.take(0), nullptr);
  EXPECT_EQ(tiny.take(0), nullptr);
}

// Whether messages have left by then must not be seen by a program that is to do the same again.
TEST(BufferSpace, ApartOnlyTheSizeOfAMessageDecidesAndTheBufferIsNotWritten) {
  Buffer memory;
  std::memset(memory.bytes, 0x5a, 600);
  BufferSpace space(memory.bytes, 600, Keeps::apart);
  EXPECT_EQ(space.take(600), nullptr);
  std::vector<BufferSlot*> slots;
  for (int i = 0; i < 10; ++i) {
    slots.push_back(space.take(88));
    ASSERT_NE(slots.back(), nullptr);
  }
  EXPECT_FALSE(space.drained(10));
  for (int i = 0; i < 600; ++i) ASSERT_EQ(memory.bytes[i], std::byte{0x5a});
  for (BufferSlot* slot : slots) finish(slot);
  EXPECT_TRUE(space.drained(space.last_serial()));
  space.sweep();
  EXPECT_TRUE(space.idle());
}

TEST(BufferSpace, AutomaticGrows) {
  BufferSpace space(buffer_automatic, 0);
  std::vector<BufferSlot*> slots;
  for (int i = 0; i < 100; ++i) {
    slots.push_back(space.take(10000));
    ASSERT_NE(slots.back(), nullptr);
  }
  for (BufferSlot* slot : slots) finish(slot);
  space.sweep();
  EXPECT_TRUE(space.idle());
}

}  // namespace
}  // namespace hf::mpi
