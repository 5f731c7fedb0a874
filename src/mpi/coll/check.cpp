#include "mpi/coll/check.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace hf::mpi {
namespace {

// Whether data at this displacement from the buffer would stand where nothing can, in the first page: the buffer is a null
// pointer, and not as MPI_BOTTOM is, with the address as displacement.
bool is_nowhere(const void* buffer, std::uintptr_t displacement) {
  return reinterpret_cast<std::uintptr_t>(buffer) + displacement < 4096;
}

int explain_nowhere(Process& p, const char* what, Count bytes) {
  return p.explain(err_buffer, fmt::format("the {} buffer is a null pointer, for {} bytes", what, bytes));
}

}  // namespace

int check_root(Process& p, int root, const Comm& comm) {
  if (root >= 0 && root < comm.size()) return success;
  return p.explain(err_root, fmt::format("root {} is not a rank of the communicator, whose ranks are 0 to {}", root,
                                         comm.size() - 1));
}

int check_blocks(Process& p, const char* what, const void* buffer, Count count, const Datatype& type, int blocks) {
  if (count < 0) return p.explain(err_count, fmt::format("the {} count is {}: it must not be negative", what, count));
  Count bytes = 0;
  if (__builtin_mul_overflow(count, static_cast<Count>(blocks), &bytes) ||
      __builtin_mul_overflow(bytes, type.size, &bytes)) {
    return p.explain(err_count, fmt::format("the {} count {} is more data than memory can hold", what, count));
  }
  if (bytes > 0 && is_nowhere(buffer, static_cast<std::uintptr_t>(type.true_lb))) return explain_nowhere(p, what, bytes);
  return success;
}

int check_block(Process& p, const char* what, const void* buffer, Count count, const Datatype& type) {
  if (int code = check_in_place(p, what, buffer)) return code;
  return check_blocks(p, what, buffer, count, type, 1);
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

int check_in_place(Process& p, const char* what, const void* buffer) {
  if (buffer != in_place) return success;
  return p.explain(err_buffer, fmt::format("MPI_IN_PLACE is not allowed as {} buffer here", what));
}

int check_reduction(Process& p, const void* send, const void* receive, Count count, const Datatype& type, const Op& op) {
  if (int code = check_block(p, "receive", receive, count, type)) return code;
  if (send != in_place) {
    if (int code = check_block(p, "send", send, count, type)) return code;
  }
  if (int code = check_op(op, type)) {
    return p.explain(code, fmt::format("the operation is not defined on {}", type.name.empty() ? "this type" : type.name));
  }
  return success;
}

}  // namespace hf::mpi
