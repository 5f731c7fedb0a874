#include "mpi/pool.hpp"

#include <sys/mman.h>

namespace hf::mpi {

void* pool_block(std::size_t bytes) {
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) throw std::bad_alloc();
  return block;
}

}  // namespace hf::mpi
