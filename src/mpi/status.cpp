// Access to the fields of a status (MPI 5.0, 3.2.5 and 13.3).
#include "mpi/status.hpp"

#include "mpi/api.hpp"
#include "mpi/datatype_body.hpp"
#include "mpi/p2p_check.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {

int get_count(Process&, const Status& status, Datatype& type, Count& count) {
  if (type.size == 0) {
    count = status.bytes == 0 ? 0 : undefined;
  } else {
    count = status.bytes % type.size == 0 ? status.bytes / type.size : undefined;
  }
  return success;
}

int test_cancelled(Process&, const Status& status, int& flag) {
  flag = status.cancelled;
  return success;
}

int status_set_cancelled(Process&, Status& status, int flag) {
  status.cancelled = flag != 0;
  return success;
}

// As many basic elements as MPI_Get_elements is to find: in a type without any, none.
int status_set_elements(Process& p, Status& status, Datatype& type, Count count) {
  Count bytes = 0;
  const signature::Node* node = type.body->shape.signature.get();
  if (count < 0 || (node && __builtin_mul_overflow(count / node->elements, type.size, &bytes)) ||
      (node && __builtin_add_overflow(bytes, signature::bytes_of_first(*node, count % node->elements), &bytes))) {
    return p.explain(err_count, fmt::format("{} elements cannot be the count of a status", count));
  }
  status.bytes = bytes;
  return success;
}

int status_get_source(Process&, const Status& status, int& source) {
  source = status.source;
  return success;
}

int status_get_tag(Process&, const Status& status, int& tag) {
  tag = status.tag;
  return success;
}

int status_get_error(Process&, const Status& status, int& error) {
  error = status.error;
  return success;
}

int status_set_source(Process&, Status& status, int source) {
  status.source = source;
  return success;
}

int status_set_tag(Process&, Status& status, int tag) {
  status.tag = tag;
  return success;
}

int status_set_error(Process&, Status& status, int error) {
  status.error = error;
  return success;
}

}  // namespace hf::mpi
