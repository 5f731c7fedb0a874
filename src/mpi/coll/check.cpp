#include "mpi/coll/check.hpp"

#include <fmt/format.h>

namespace hf::mpi {
namespace {

int explain_nowhere(Process& p, const char* what, Count bytes) {
  return p.explain(err_buffer, fmt::format("the {} buffer is a null pointer, for {} bytes", what, bytes));
}

}  // namespace

int refuse_root(Process& p, int root, const Comm& comm) {
  return p.explain(err_root, fmt::format("root {} is not a rank of the communicator, whose ranks are 0 to {}", root,
                                         comm.size() - 1));
}

int refuse_blocks(Process& p, const char* what, Count count, const Datatype& type, int blocks) {
  if (count < 0) return p.explain(err_count, fmt::format("the {} count is {}: it must not be negative", what, count));
  Count bytes = 0;
  if (__builtin_mul_overflow(count, static_cast<Count>(blocks), &bytes) ||
      __builtin_mul_overflow(bytes, type.size, &bytes)) {
    return p.explain(err_count, fmt::format("the {} count {} is more data than memory can hold", what, count));
  }
  return explain_nowhere(p, what, bytes);
}

int check_vector(Process& p, const char* what, const void* buffer, const CountArray& counts,
                 const CountArray& displacements, const Datatype& type, int size, const char* whose) {
  if (size == 0) return success;
  if (!counts || !displacements) {
    return p.explain(err_arg, fmt::format("the array of {} counts or displacements is a null pointer", what));
  }
  Count total = 0;
  for (int i = 0; i < size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Count count = counts[at];
    if (count < 0) {
      return p.explain(err_count, fmt::format("the {} count for {} {} is {}: it must not be negative", what, whose, i, count));
    }
    Count bytes = 0;
    if (__builtin_mul_overflow(count, type.size, &bytes) || __builtin_add_overflow(total, bytes, &total)) {
      return p.explain(err_count, fmt::format("the {} count {} for {} {} is more data than memory can hold", what, count, whose, i));
    }
    const auto displacement = static_cast<std::uintptr_t>(displacements[at]) * static_cast<std::uintptr_t>(type.extent);
    const auto first = displacement + static_cast<std::uintptr_t>(type.true_lb);
    if (bytes > 0 && is_nowhere(buffer, first)) return explain_nowhere(p, what, bytes);
  }
  return success;
}

int refuse_in_place(Process& p, const char* what) {
  return p.explain(err_buffer, fmt::format("MPI_IN_PLACE is not allowed as {} buffer here", what));
}

int refuse_aliased(Process& p) {
  return p.explain(err_buffer, "the send and the receive buffer are the same memory: pass MPI_IN_PLACE as the send buffer");
}

int refuse_op(Process& p, const Datatype& type) {
  return p.explain(err_op, fmt::format("the operation is not defined on {}", type.name.empty() ? "this type" : type.name));
}

}  // namespace hf::mpi
