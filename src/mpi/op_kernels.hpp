// The loops of the predefined operations (MPI 5.0, 6.9.2 and 6.9.4).
#pragma once
#include "mpi/datatype.hpp"
#include "mpi/op.hpp"

namespace hf::mpi {

// inout[i] = in[i] op inout[i] for i = 0, 1, ..., each element by itself: the result depends on nothing but the values.
// The arrays may have any alignment and do not overlap.
using OpKernel = void (*)(const void* in, void* inout, Count count);

// Null where the operation is not defined on such elements.
OpKernel op_kernel(Op::Kind kind, Basic basic);

}  // namespace hf::mpi
