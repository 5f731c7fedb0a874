// Generalized requests (MPI 5.0, 13.2). The library never makes progress on them: the program says when they are complete.
#include "mpi/api.hpp"
#include "mpi/completion.hpp"
#include "mpi/p2p_check.hpp"
#include "mpi/process.hpp"
#include "mpi/request.hpp"

namespace hf::mpi {
namespace {

struct GeneralizedRequest final : Request {
  Callback query, free, cancel_function;
  void* extra = nullptr;
  bool complete = false;

  bool done() const override { return complete; }
  int finish(Process&, Status& status) override {
    return query ? query.frontend->call_grequest_query(query, extra, status) : success;
  }
  int retire(Process&) override { return free ? free.frontend->call_grequest_free(free, extra) : success; }
  int cancel(Process&) override {
    return cancel_function ? cancel_function.frontend->call_grequest_cancel(cancel_function, extra, complete) : success;
  }
};

}  // namespace

int grequest_start(Process&, Callback query_fn, Callback free_fn, Callback cancel_fn, void* extra_state, Request*& request) {
  GeneralizedRequest* made = new GeneralizedRequest;
  made->kind = Request::Kind::generalized;
  made->query = query_fn;
  made->free = free_fn;
  made->cancel_function = cancel_fn;
  made->extra = extra_state;
  request = made;
  return success;
}

int grequest_complete(Process& p, Request*& request) {
  if (request->kind != Request::Kind::generalized) {
    return p.explain(err_request, "MPI_Grequest_complete of a request that MPI_Grequest_start did not make");
  }
  auto& generalized = static_cast<GeneralizedRequest&>(*request);
  if (generalized.complete) return p.explain(err_request, "MPI_Grequest_complete of a request that is complete already");
  generalized.complete = true;
  if (!request->freed) return success;
  p.drop_buried(request);
  request = nullptr;
  return success;
}

}  // namespace hf::mpi
