// Linked with own_heap.cpp: operator new of this whole process.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "base/test_seed.hpp"

namespace hf {
namespace {

struct Block {
  unsigned char* at = nullptr;
  std::size_t bytes = 0, alignment = 0;
  unsigned char fill = 0;
};

Block take(std::mt19937_64& draw) {
  Block block;
  block.bytes = draw() % (draw() % 20 ? 300 : draw() % 20 ? 40'000 : 3'000'000);
  block.alignment = std::size_t{16} << (draw() % 3 ? 0 : draw() % 9);
  block.fill = static_cast<unsigned char>(draw());
  block.at = static_cast<unsigned char*>(::operator new(block.bytes, std::align_val_t(block.alignment)));
  std::memset(block.at, block.fill, block.bytes);
  return block;
}

void give_back(Block& block) {
  for (std::size_t i = 0; i < block.bytes; ++i) ASSERT_EQ(block.at[i], block.fill) << i << " of " << block.bytes;
  ::operator delete(block.at, std::align_val_t(block.alignment));
  block = {};
}

void work(std::uint64_t seed) {
  std::mt19937_64 draw(seed);
  std::vector<Block> blocks(200);
  for (int i = 0; i < 20'000; ++i) {
    Block& block = blocks[draw() % blocks.size()];
    if (block.at) give_back(block);
    block = take(draw);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block.at) % block.alignment, 0u);
  }
  for (Block& block : blocks) {
    if (block.at) give_back(block);
  }
}

TEST(OwnHeap, BlocksAreAlignedAndApart) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 3; ++i) threads.emplace_back(work, seed + i);
  for (std::thread& thread : threads) thread.join();
}

TEST(OwnHeap, ItIsNotThatOfTheProgram) {
  unsigned char* volatile program = static_cast<unsigned char*>(std::malloc(100));  // volatile: compilers know that it is not new's
  auto* own = static_cast<unsigned char*>(::operator new(100));
  const auto apart = reinterpret_cast<std::uintptr_t>(own) - reinterpret_cast<std::uintptr_t>(static_cast<void*>(program));
  EXPECT_GT(std::min(apart, std::uintptr_t{0} - apart), std::uintptr_t{1} << 24);
  ::operator delete(own);
  ::operator delete(program);  // as if another library had made it
}

TEST(OwnHeap, MoreThanThereIsIsRefused) {
  EXPECT_THROW(static_cast<void>(::operator new(std::size_t{1} << 60)), std::bad_alloc);
  EXPECT_EQ(::operator new(std::size_t{1} << 60, std::nothrow), nullptr);
}

}  // namespace
}  // namespace hf
