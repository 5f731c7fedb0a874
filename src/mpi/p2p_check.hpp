// Checks of the arguments that all point-to-point calls share. Each returns MPI_SUCCESS or a code with one line of
// explanation. The common case is a few predictable branches.
#pragma once
#include <fmt/format.h>

#include "mpi/datatype.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {

[[gnu::cold]] int explain_buffer(Process& p, const void* buffer, Count count, const Datatype& type);
[[gnu::cold]] int explain_peer(Process& p, const char* what, int rank, int tag, bool receive, const Comm& comm);

inline int check_buffer(Process& p, const void* buffer, Count count, const Datatype& type) {
  Count bytes = 0;
  const bool bad = count < 0 || !type.committed || __builtin_mul_overflow(count, type.size, &bytes) ||
                   (!buffer && bytes > 0 && type.true_lb == 0);
  return __builtin_expect(bad, 0) ? explain_buffer(p, buffer, count, type) : success;
}

inline int check_destination(Process& p, int destination, int tag, const Comm& comm) {
  const bool bad = tag < 0 || ((destination < 0 || destination >= comm.peers().size()) && destination != proc_null);
  return __builtin_expect(bad, 0) ? explain_peer(p, "destination", destination, tag, false, comm) : success;
}

inline int check_source(Process& p, int source, int tag, const Comm& comm) {
  const bool bad = (tag < 0 && tag != any_tag_value) ||
                   ((source < 0 || source >= comm.peers().size()) && source != proc_null && source != any_source);
  return __builtin_expect(bad, 0) ? explain_peer(p, "source", source, tag, true, comm) : success;
}

}  // namespace hf::mpi
