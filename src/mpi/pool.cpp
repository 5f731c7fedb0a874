#include "mpi/pool.hpp"

#include <sys/mman.h>

#include "base/map_apart.hpp"

namespace hf::mpi {

void* pool_block(std::size_t bytes) {
  void* block = map_apart(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  if (block == MAP_FAILED) throw std::bad_alloc();
  return block;
}

}  // namespace hf::mpi
