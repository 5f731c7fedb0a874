// Persistent requests (MPI 5.0, 3.9).
#include <span>

#include "mpi/api.hpp"
#include "mpi/p2p_check.hpp"
#include "mpi/p2p_request.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

int make_send(Process& p, const void* buf, Count count, Datatype& type, int dest, int tag, Comm& comm, SendKind kind,
              Request*& request) {
  if (int code = check_buffer(p, buf, count, type)) return code;
  if (int code = check_destination(p, dest, tag, comm)) return code;
  SendRequest* made = new SendRequest;
  made->kind = Request::Kind::send;
  made->persistent = true;
  made->active = false;
  made->comm = retain(&comm);
  made->type = retain(&type);
  made->buffer = typed(buf, count, type);
  made->destination = dest;
  made->tag = tag;
  made->send_kind = kind;
  request = made;
  return success;
}

}  // namespace

int send_init(Process& p, const void* buf, Count count, Datatype& type, int dest, int tag, Comm& comm, Request*& request) {
  return make_send(p, buf, count, type, dest, tag, comm, SendKind::standard, request);
}

int bsend_init(Process& p, const void* buf, Count count, Datatype& type, int dest, int tag, Comm& comm, Request*& request) {
  return make_send(p, buf, count, type, dest, tag, comm, SendKind::buffered, request);
}

int ssend_init(Process& p, const void* buf, Count count, Datatype& type, int dest, int tag, Comm& comm, Request*& request) {
  return make_send(p, buf, count, type, dest, tag, comm, SendKind::synchronous, request);
}

int rsend_init(Process& p, const void* buf, Count count, Datatype& type, int dest, int tag, Comm& comm, Request*& request) {
  return make_send(p, buf, count, type, dest, tag, comm, SendKind::ready, request);
}

int recv_init(Process& p, void* buf, Count count, Datatype& type, int source, int tag, Comm& comm, Request*& request) {
  if (int code = check_buffer(p, buf, count, type)) return code;
  if (int code = check_source(p, source, tag, comm)) return code;
  RecvRequest* made = new RecvRequest;
  made->kind = Request::Kind::recv;
  made->persistent = true;
  made->active = false;
  made->comm = retain(&comm);
  made->type = retain(&type);
  made->buffer = typed(buf, count, type);
  made->source = source;
  made->tag = tag;
  request = made;
  return success;
}

int start(Process& p, Request& request) {
  if (!request.persistent || request.active) {
    p.blame(request.comm);
    return p.explain(err_request, request.persistent ? "MPI_Start of a request that is active: complete it first"
                                                      : "MPI_Start of a request that is not persistent");
  }
  request.active = true;
  const int code = request.start(p);
  if (__builtin_expect(code != success, 0)) {
    request.active = false;
    p.blame(request.comm);
  }
  return code;
}

int startall(Process& p, int, std::span<Request* const> requests) {
  for (Request* request : requests) {
    if (int code = start(p, *request)) return code;
  }
  return success;
}

}  // namespace hf::mpi
