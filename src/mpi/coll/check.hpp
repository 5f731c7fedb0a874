// Checks of the arguments of collectives beyond those of the entry points (api.hpp). Each gives MPI_SUCCESS or a code with
// one line of explanation, which is made out of line: here is what every call of a few bytes goes through.
#pragma once
#include <cstdint>

#include "mpi/arrays.hpp"
#include "mpi/datatype.hpp"
#include "mpi/op_kernels.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {

// Of arguments that are wrong.
[[gnu::cold]] int refuse_root(Process& p, int root, const Comm& comm);
[[gnu::cold]] int refuse_blocks(Process& p, const char* what, Count count, const Datatype& type, int blocks);
[[gnu::cold]] int refuse_in_place(Process& p, const char* what);
[[gnu::cold]] int refuse_aliased(Process& p);
[[gnu::cold]] int refuse_op(Process& p, const Datatype& type);

// Whether data at this displacement from the buffer would stand where nothing can, in the first page: the buffer is a null
// pointer, and not as MPI_BOTTOM is, with the address as displacement.
inline bool is_nowhere(const void* buffer, std::uintptr_t displacement) {
  return reinterpret_cast<std::uintptr_t>(buffer) + displacement < 4096;
}

inline int check_root(Process& p, int root, const Comm& comm) {
  if (root >= 0 && root < comm.size()) [[likely]] return success;
  return refuse_root(p, root, comm);
}

// MPI_IN_PLACE is not allowed here. `what`: of which argument, for the text: "send" or "receive".
inline int check_in_place(Process& p, const char* what, const void* buffer) {
  if (buffer != in_place) [[likely]] return success;
  return refuse_in_place(p, what);
}

// `blocks` blocks of `count` elements each, side by side.
inline int check_blocks(Process& p, const char* what, const void* buffer, Count count, const Datatype& type, int blocks) {
  Count bytes = 0;
  const bool fits = count >= 0 && !__builtin_mul_overflow(count, static_cast<Count>(blocks), &bytes) &&
                    !__builtin_mul_overflow(bytes, type.size, &bytes);
  if (fits && (bytes == 0 || !is_nowhere(buffer, static_cast<std::uintptr_t>(type.true_lb)))) [[likely]] return success;
  return refuse_blocks(p, what, count, type, blocks);
}

inline int check_block(Process& p, const char* what, const void* buffer, Count count, const Datatype& type) {
  if (int code = check_in_place(p, what, buffer)) return code;
  return check_blocks(p, what, buffer, count, type, 1);
}

// What is received would overwrite what is still to be sent (MPI 5.0, 6.3: no aliasing): both buffers begin at one address.
inline int check_apart(Process& p, const void* send, Count count, const Datatype& sendtype, const void* receive, const Datatype& recvtype) {
  if (static_cast<const std::byte*>(send) + sendtype.true_lb != static_cast<const std::byte*>(receive) + recvtype.true_lb) [[likely]] {
    return success;
  }
  return count > 0 && sendtype.size > 0 ? refuse_aliased(p) : success;
}

// Counts and displacements by rank, or by what `whose` says.
int check_vector(Process& p, const char* what, const void* buffer, const CountArray& counts,
                 const CountArray& displacements, const Datatype& type, int size, const char* whose = "rank");

inline int check_reduction(Process& p, const void* send, const void* receive, Count count, const Datatype& type, const Op& op) {
  if (int code = check_block(p, "receive", receive, count, type)) return code;
  if (send != in_place) {
    if (int code = check_blocks(p, "send", send, count, type, 1)) return code;
  }
  if (op.kind == Op::Kind::user || op_kernel(op.kind, type.operand)) [[likely]] return success;
  return refuse_op(p, type);
}

}  // namespace hf::mpi
