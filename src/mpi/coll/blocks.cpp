#include "mpi/coll/blocks.hpp"

#include <fmt/format.h>

#include "mpi/coll/check.hpp"

namespace hf::mpi {
namespace {

// The address `n` times `step` behind the buffer. As numbers that wrap: with MPI_BOTTOM displacements are addresses, and of
// types without data there may be more elements than addresses.
const void* place(const void* buffer, Count n, Count step = 1) {
  const auto distance = static_cast<std::uintptr_t>(n) * static_cast<std::uintptr_t>(step);
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(buffer) + distance);
}

}  // namespace

Part* uniform_blocks(Schedule& s, const void* buffer, Count count, const Datatype& type, int n) {
  auto* blocks = s.array<Part>(n);
  for (int i = 0; i < n; ++i) {
    const auto first = static_cast<Count>(static_cast<std::uintptr_t>(i) * static_cast<std::uintptr_t>(count));
    blocks[i] = Part::of(place(buffer, first, type.extent), count, type);
  }
  return blocks;
}

Part* vector_blocks(Schedule& s, const void* buffer, const CountArray& counts, const CountArray& displs,
                    const Datatype& type, int n) {
  auto* blocks = s.array<Part>(n);
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    blocks[i] = Part::of(place(buffer, displs[at], type.extent), counts[at], type);
  }
  return blocks;
}

int typed_blocks(Process& p, Schedule& s, const char* what, const void* buffer, const CountArray& counts,
                 const CountArray& displs, std::span<Datatype* const> types, int n, Part*& blocks) {
  blocks = s.array<Part>(n);
  if (n == 0) return success;
  if (!counts || !displs || types.size() != static_cast<std::size_t>(n)) {
    return p.explain(err_arg, fmt::format("the {} counts, displacements or types are a null pointer", what));
  }
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const void* start = place(buffer, displs[at]);
    if (int code = check_blocks(p, what, start, counts[at], *types[at], 1)) return code;
    blocks[i] = Part::of(start, counts[at], *types[at]);
    s.keep(*types[at]);
  }
  return success;
}

}  // namespace hf::mpi
