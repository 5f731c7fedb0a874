// Memory for schedules and their temporary buffers, kept apart from the program's heap so that the number of collectives in
// flight, which differs between a run and its replay, cannot shift the program's own memory (design section 6.2). Blocks
// are powers of two and are kept for reuse: a copy into fresh pages costs many times one into warm pages.
//
// One thread at a time (SERIALIZED).
#pragma once
#include <cstddef>

namespace hf::mpi {

// At least `bytes`, aligned to a page; null when the system has none.
std::byte* scratch_take(std::size_t bytes);
// `bytes` as asked for.
void scratch_give(std::byte* block, std::size_t bytes);

inline constexpr std::size_t scratch_kept_bytes_max = std::size_t{64} << 20;  // beyond it blocks go back to the system

}  // namespace hf::mpi
