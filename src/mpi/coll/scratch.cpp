#include "mpi/coll/scratch.hpp"

#include <sys/mman.h>

#include <array>
#include <bit>

#include "base/map_apart.hpp"

namespace hf::mpi {
namespace {

constexpr std::size_t block_bytes_min = 4096;

struct Free {
  Free* next;
};
std::array<Free*, 64> free_blocks{};  // by log2 of the block's size
std::size_t kept_bytes = 0;

int class_of(std::size_t bytes) { return std::bit_width((bytes < block_bytes_min ? block_bytes_min : bytes) - 1); }

}  // namespace

std::byte* scratch_take(std::size_t bytes) {
  if (bytes > (std::size_t{1} << 47)) return nullptr;
  const int c = class_of(bytes);
  const std::size_t size = std::size_t{1} << c;
  if (Free* block = free_blocks[static_cast<std::size_t>(c)]) {
    free_blocks[static_cast<std::size_t>(c)] = block->next;
    kept_bytes -= size;
    return reinterpret_cast<std::byte*>(block);
  }
  // Of a type with wide gaps little is touched.
  void* block = map_apart(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  return block == MAP_FAILED ? nullptr : static_cast<std::byte*>(block);
}

void scratch_give(std::byte* block, std::size_t bytes) {
  const int c = class_of(bytes);
  const std::size_t size = std::size_t{1} << c;
  if (kept_bytes + size > scratch_kept_bytes_max) {
    munmap(block, size);
    return;
  }
  kept_bytes += size;
  auto* entry = reinterpret_cast<Free*>(block);
  entry->next = free_blocks[static_cast<std::size_t>(c)];
  free_blocks[static_cast<std::size_t>(c)] = entry;
}

}  // namespace hf::mpi
