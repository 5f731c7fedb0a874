// The library's own heap: what operator new gives inside it. The program's heap is used by the program alone: what it finds in memory that it has not
// written, and at which addresses its objects stand, is the same in each incarnation, though the library has other things to do in a replay
// (docs/recovery.md). libstdc++ is linked statically and hidden, so that its allocations come here too; what other libraries have allocated and
// we are to free is known by its address.
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/map_apart.hpp"

namespace {

// Blocks of 2^n bytes, cut one behind the other out of a range of addresses that is reserved once, and used again by size. A head stands before
// what was given out.
struct Head {
  std::uint32_t size_class, before;  // before: bytes from the block's begin to what was given out
};
struct Free {
  Free* next;
};
constexpr unsigned class_min = 5, class_max = 35, class_large = 17;  // large: its pages are given back when it is free
constexpr std::size_t range_bytes = std::size_t{1} << 36, usual = 16, page = 4096;
static_assert(sizeof(Head) <= usual && alignof(std::max_align_t) <= usual);

std::atomic_flag locked;
Free* free_blocks[class_max + 1];
std::byte *begin = nullptr, *unused = nullptr, *end = nullptr;  // of the range; begin and end alike: there is none
std::byte nowhere[1];

struct Lock {
  Lock() {
    while (locked.test_and_set(std::memory_order_acquire)) ::sched_yield();
  }
  ~Lock() { locked.clear(std::memory_order_release); }
};

bool is_ours(const void* memory) { return memory >= begin && memory < end; }

void reserve_range() {
  void* range = hf::map_apart(range_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  begin = unused = end = range == MAP_FAILED ? nowhere : static_cast<std::byte*>(range);
  if (range != MAP_FAILED) end += range_bytes;
}

// Null: the range is used up, or could not be had.
std::byte* take_block(unsigned size_class) {
  const Lock lock;
  if (!begin) reserve_range();
  if (Free* block = free_blocks[size_class]) {
    free_blocks[size_class] = block->next;
    return reinterpret_cast<std::byte*>(block);
  }
  const std::size_t bytes = std::size_t{1} << size_class;
  if (static_cast<std::size_t>(end - unused) < bytes + page) return nullptr;
  if (size_class >= class_large) unused += (page - reinterpret_cast<std::uintptr_t>(unused) % page) % page;
  return std::exchange(unused, unused + bytes);
}

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > range_bytes / 4) return ::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  const std::size_t whole = bytes + 2 * alignment;  // a head before it, and to align
  const unsigned size_class = std::max(class_min, static_cast<unsigned>(std::bit_width(whole - 1)));
  std::byte* block = take_block(size_class);
  if (!block) return ::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  const auto at = reinterpret_cast<std::uintptr_t>(block);
  const std::size_t before = (at + 2 * alignment - 1) / alignment * alignment - at;
  new (block + before - sizeof(Head)) Head{size_class, static_cast<std::uint32_t>(before)};
  return block + before;
}

void release(void* memory) noexcept {
  if (!memory) return;
  if (!is_ours(memory)) return ::free(memory);
  auto* given = static_cast<std::byte*>(memory);
  const Head head = *reinterpret_cast<const Head*>(given - sizeof(Head));
  std::byte* block = given - head.before;
  if (head.size_class >= class_large) ::madvise(block + page, (std::size_t{1} << head.size_class) - page, MADV_DONTNEED);
  const Lock lock;
  free_blocks[head.size_class] = new (block) Free{free_blocks[head.size_class]};
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* memory = allocate(bytes, alignment);
  if (!memory) throw std::bad_alloc();
  return memory;
}

std::size_t number(std::align_val_t alignment) { return std::max(usual, static_cast<std::size_t>(alignment)); }

}  // namespace

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, usual); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes, usual); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, usual); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, usual); }
void* operator new(std::size_t bytes, std::align_val_t a) { return allocate_or_throw(bytes, number(a)); }
void* operator new[](std::size_t bytes, std::align_val_t a) { return allocate_or_throw(bytes, number(a)); }
void* operator new(std::size_t bytes, std::align_val_t a, const std::nothrow_t&) noexcept { return allocate(bytes, number(a)); }
void* operator new[](std::size_t bytes, std::align_val_t a, const std::nothrow_t&) noexcept { return allocate(bytes, number(a)); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept { release(memory); }
