// MPI_Request_free and MPI_Cancel (MPI 5.0, 3.7.3 and 3.8.4).
#include "mpi/request.hpp"

#include "mpi/api.hpp"
#include "mpi/completion.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {

int request_free(Process& p, Request*& request) {
  if (!request) return p.explain(err_request, "MPI_Request_free of MPI_REQUEST_NULL");
  Request* freed = std::exchange(request, nullptr);
  if (is_live(freed)) {
    if (!freed->done()) {
      p.bury(freed);
      return success;
    }
    const int code = freed->retire(p);
    if (code) p.blame(freed->comm);
    release(freed);
    return code;
  }
  release(freed);
  return success;
}

int cancel(Process& p, Request& request) {
  int code = success;
  if (!request.active) {
    code = p.explain(err_request, "MPI_Cancel of a persistent request that is not active");
  } else if (request.kind == Request::Kind::collective) {
    code = p.explain(err_request, "MPI_Cancel of a collective operation, which MPI does not allow");
  } else {
    code = request.cancel(p);
  }
  if (code) p.blame(request.comm);
  return code;
}

}  // namespace hf::mpi
