// Values of the MPI 5.0 standard ABI (MPI 5.0, chapter 20) that mpi/ works with. Front ends of other ABIs convert.
// Kept apart from include/mpi.h so that mpi/ never sees handle types; tests/abi compares the two.
#pragma once
#include <cstdint>

namespace hf::mpi {

using Count = std::int64_t;  // MPI_Count, MPI_Aint and MPI_Offset alike on this platform

inline constexpr int any_source = -1;
inline constexpr int any_tag_value = -2;
inline constexpr int proc_null = -3;
inline constexpr int root = -4;
inline constexpr int undefined = -32766;
inline constexpr int tag_ub = 0x7fffffff;
inline void* const in_place = reinterpret_cast<void*>(1);
inline const int* const unweighted = reinterpret_cast<const int*>(10);
inline const int* const weights_empty = reinterpret_cast<const int*>(11);

}  // namespace hf::mpi
