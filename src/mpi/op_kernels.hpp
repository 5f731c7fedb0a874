// The loops of the predefined operations (MPI 5.0, 6.9.2 and 6.9.4).
#pragma once
#include <array>
#include <cstddef>

#include "mpi/datatype.hpp"
#include "mpi/op.hpp"

namespace hf::mpi {

// inout[i] = in[i] op inout[i] for i = 0, 1, ..., each element by itself: the result depends on nothing but the values.
// The arrays may have any alignment and do not overlap.
using OpKernel = void (*)(const void* in, void* inout, Count count);

inline constexpr std::size_t op_kind_count = static_cast<std::size_t>(Op::Kind::user) + 1;
inline constexpr std::size_t basic_count = static_cast<std::size_t>(Basic::int_int_fortran) + 1;
extern const std::array<std::array<OpKernel, basic_count>, op_kind_count> op_kernels;

// Null where the operation is not defined on such elements.
inline OpKernel op_kernel(Op::Kind kind, Basic basic) {
  return op_kernels[static_cast<std::size_t>(kind)][static_cast<std::size_t>(basic)];
}

}  // namespace hf::mpi
