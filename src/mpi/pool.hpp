// Free lists for the small objects of the message path: in steady state no request costs an allocation. Memory comes in
// blocks from mmap, not from the program's heap, so that the number of requests in flight, which differs between a run and
// its replay, cannot shift the program's own memory (design section 6.2).
//
// One thread at a time (SERIALIZED): no locks. Blocks are never given back.
#pragma once
#include <cstddef>
#include <new>

namespace hf::mpi {

// Two or more pages of zeroed memory; throws std::bad_alloc when the system has none.
void* pool_block(std::size_t bytes);

template <class T>
class Pool {
 public:
  static void* take() {
    if (!free_) refill();
    Node* node = free_;
    free_ = node->next;
    return node;
  }
  static void give(void* memory) {
    Node* node = static_cast<Node*>(memory);
    node->next = free_;
    free_ = node;
  }

 private:
  struct Node {
    Node* next;
  };
  static constexpr std::size_t block_bytes = 64 * 1024;
  static void refill() {
    static_assert(alignof(T) <= 64 && sizeof(T) >= sizeof(Node));
    constexpr std::size_t step = (sizeof(T) + 63) / 64 * 64;
    static_assert(step <= block_bytes);
    std::byte* block = static_cast<std::byte*>(pool_block(block_bytes));
    for (std::size_t at = block_bytes / step; at-- > 0;) give(block + at * step);
  }
  static inline Node* free_ = nullptr;
};

// Base of a class T that is made and deleted through its pool.
template <class T>
struct Pooled {
  static void* operator new(std::size_t) { return Pool<T>::take(); }
  static void operator delete(void* memory) { Pool<T>::give(memory); }
};

}  // namespace hf::mpi
