// The outcome of a receive, as mpi/ sees it; front ends store it in their own MPI_Status.
#pragma once
#include "mpi/constants.hpp"

namespace hf::mpi {

struct Status {
  int source = any_source;      // rank in the communicator; the empty status is (any_source, any_tag, 0)
  int tag = any_tag_value;
  int error = 0;
  Count bytes = 0;
  bool cancelled = false;
};

}  // namespace hf::mpi
