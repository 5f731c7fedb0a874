// Point-to-point calls: blocking, non-blocking, send-receive (MPI 5.0, 3.2 to 3.10).
#include <memory>
#include <new>

#include "mpi/api.hpp"
#include "mpi/p2p_check.hpp"
#include "mpi/p2p_request.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

int blocking_send(Process& p, const void* buf, Count count, Datatype& type, int dest, int tag, Comm& comm, SendKind kind) {
  if (int code = check_buffer(p, buf, count, type)) return code;
  if (int code = check_destination(p, dest, tag, comm)) return code;
  engine::SendOperation op;
  const TypedBuffer from = typed(buf, count, type);
  if (int code = start_send(p, op, from, dest, tag, kind, comm)) return code;
  p.engine->wait_for(op.complete, op.destination);
  return success;
}

int nonblocking_send(Process& p, const void* buf, Count count, Datatype& type, int dest, int tag, Comm& comm, SendKind kind,
                     Request*& request) {
  if (int code = check_buffer(p, buf, count, type)) return code;
  if (int code = check_destination(p, dest, tag, comm)) return code;
  std::unique_ptr<SendRequest> made(new SendRequest);  // make_unique would zero it first
  made->kind = Request::Kind::send;
  made->comm = retain(&comm);
  made->type = retain(&type);
  made->buffer = typed(buf, count, type);
  made->op.keeps_buffer = true;
  if (int code = start_send(p, made->op, made->buffer, dest, tag, kind, comm)) return code;
  request = made.release();
  return success;
}

// The sending half of send-receive-replace, which is overwritten while it is sent: a packed copy.
std::unique_ptr<std::byte[]> packed_copy(const TypedBuffer& from) {
  std::unique_ptr<std::byte[]> copy(new (std::nothrow) std::byte[from.bytes() ? from.bytes() : 1]);
  if (copy) from.pack(0, {copy.get(), from.bytes()});
  return copy;
}

int no_memory(Process& p, std::size_t bytes) {
  return p.explain(err_no_mem, fmt::format("no memory for a copy of {} bytes to send from", bytes));
}

void send_copy(Process& p, engine::SendOperation& op, const std::byte* copy, std::size_t bytes, int dest, int tag,
               Comm& comm) {
  if (dest == proc_null) {
    op.complete = true;
    return;
  }
  p.engine->send(op, comm.point, comm.world(dest), MessageTag(tag), {copy, bytes}, engine::SendMode::standard);
}

int check_sendrecv(Process& p, int dest, int sendtag, int source, int recvtag, const Comm& comm) {
  if (int code = check_destination(p, dest, sendtag, comm)) return code;
  return check_source(p, source, recvtag, comm);
}

int finish_blocking(Process& p, const engine::RecvOperation& op, int source, const Comm& comm, Status* status) {
  Status made;
  const int code = finish_recv(p, op, source, comm, made);
  if (status) *status = made;
  return code;
}

}  // namespace

int send(Process& p, const void* buf, Count count, Datatype& type, int dest, int tag, Comm& comm) {
  return blocking_send(p, buf, count, type, dest, tag, comm, SendKind::standard);
}

int bsend(Process& p, const void* buf, Count count, Datatype& type, int dest, int tag, Comm& comm) {
  return blocking_send(p, buf, count, type, dest, tag, comm, SendKind::buffered);
}

int ssend(Process& p, const void* buf, Count count, Datatype& type, int dest, int tag, Comm& comm) {
  return blocking_send(p, buf, count, type, dest, tag, comm, SendKind::synchronous);
}

int rsend(Process& p, const void* buf, Count count, Datatype& type, int dest, int tag, Comm& comm) {
  return blocking_send(p, buf, count, type, dest, tag, comm, SendKind::ready);
}

int isend(Process& p, const void* buf, Count count, Datatype& type, int dest, int tag, Comm& comm, Request*& request) {
  return nonblocking_send(p, buf, count, type, dest, tag, comm, SendKind::standard, request);
}

int ibsend(Process& p, const void* buf, Count count, Datatype& type, int dest, int tag, Comm& comm, Request*& request) {
  return nonblocking_send(p, buf, count, type, dest, tag, comm, SendKind::buffered, request);
}

int issend(Process& p, const void* buf, Count count, Datatype& type, int dest, int tag, Comm& comm, Request*& request) {
  return nonblocking_send(p, buf, count, type, dest, tag, comm, SendKind::synchronous, request);
}

int irsend(Process& p, const void* buf, Count count, Datatype& type, int dest, int tag, Comm& comm, Request*& request) {
  return nonblocking_send(p, buf, count, type, dest, tag, comm, SendKind::ready, request);
}

int recv(Process& p, void* buf, Count count, Datatype& type, int source, int tag, Comm& comm, Status* status) {
  if (int code = check_buffer(p, buf, count, type)) return code;
  if (int code = check_source(p, source, tag, comm)) return code;
  engine::RecvOperation op;
  TypedBuffer into = typed(buf, count, type);
  start_recv(p, op, into, source, tag, comm);
  p.engine->wait_for(op.complete, op.source);
  return finish_blocking(p, op, source, comm, status);
}

int irecv(Process& p, void* buf, Count count, Datatype& type, int source, int tag, Comm& comm, Request*& request) {
  if (int code = check_buffer(p, buf, count, type)) return code;
  if (int code = check_source(p, source, tag, comm)) return code;
  RecvRequest* made = new RecvRequest;
  made->kind = Request::Kind::recv;
  made->comm = retain(&comm);
  made->type = retain(&type);
  made->buffer = typed(buf, count, type);
  made->source = source;
  made->tag = tag;
  start_recv(p, made->op, made->buffer, source, tag, comm);
  request = made;
  return success;
}

int sendrecv(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, int dest, int sendtag, void* recvbuf,
             Count recvcount, Datatype& recvtype, int source, int recvtag, Comm& comm, Status* status) {
  if (int code = check_buffer(p, sendbuf, sendcount, sendtype)) return code;
  if (int code = check_buffer(p, recvbuf, recvcount, recvtype)) return code;
  if (int code = check_sendrecv(p, dest, sendtag, source, recvtag, comm)) return code;
  engine::RecvOperation receiving;
  engine::SendOperation sending;
  TypedBuffer into = typed(recvbuf, recvcount, recvtype);
  const TypedBuffer from = typed(sendbuf, sendcount, sendtype);
  start_recv(p, receiving, into, source, recvtag, comm);
  sending.keeps_buffer = true;
  start_send(p, sending, from, dest, sendtag, SendKind::standard, comm);  // standard mode cannot fail
  p.engine->wait([&] { return sending.complete && receiving.complete; }, [&] { return awaited(sending, receiving); });
  p.engine->withdraw(sending);
  return finish_blocking(p, receiving, source, comm, status);
}

int sendrecv_replace(Process& p, void* buf, Count count, Datatype& type, int dest, int sendtag, int source, int recvtag,
                     Comm& comm, Status* status) {
  if (int code = check_buffer(p, buf, count, type)) return code;
  if (int code = check_sendrecv(p, dest, sendtag, source, recvtag, comm)) return code;
  TypedBuffer into = typed(buf, count, type);
  const std::unique_ptr<std::byte[]> copy = packed_copy(into);
  if (!copy) return no_memory(p, into.bytes());
  engine::RecvOperation receiving;
  engine::SendOperation sending;
  start_recv(p, receiving, into, source, recvtag, comm);
  send_copy(p, sending, copy.get(), into.bytes(), dest, sendtag, comm);
  p.engine->wait([&] { return sending.complete && receiving.complete; }, [&] { return awaited(sending, receiving); });
  return finish_blocking(p, receiving, source, comm, status);
}

int isendrecv(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, int dest, int sendtag, void* recvbuf,
              Count recvcount, Datatype& recvtype, int source, int recvtag, Comm& comm, Request*& request) {
  if (int code = check_buffer(p, sendbuf, sendcount, sendtype)) return code;
  if (int code = check_buffer(p, recvbuf, recvcount, recvtype)) return code;
  if (int code = check_sendrecv(p, dest, sendtag, source, recvtag, comm)) return code;
  SendrecvRequest* made = new SendrecvRequest;
  made->kind = Request::Kind::recv;
  made->comm = retain(&comm);
  made->send_type = retain(&sendtype);
  made->recv_type = retain(&recvtype);
  made->send_buffer = typed(sendbuf, sendcount, sendtype);
  made->recv_buffer = typed(recvbuf, recvcount, recvtype);
  made->source = source;
  start_recv(p, made->recv, made->recv_buffer, source, recvtag, comm);
  made->send.keeps_buffer = true;
  start_send(p, made->send, made->send_buffer, dest, sendtag, SendKind::standard, comm);
  request = made;
  return success;
}

int isendrecv_replace(Process& p, void* buf, Count count, Datatype& type, int dest, int sendtag, int source, int recvtag,
                      Comm& comm, Request*& request) {
  if (int code = check_buffer(p, buf, count, type)) return code;
  if (int code = check_sendrecv(p, dest, sendtag, source, recvtag, comm)) return code;
  const TypedBuffer whole = typed(buf, count, type);
  std::unique_ptr<std::byte[]> copy = packed_copy(whole);
  if (!copy) return no_memory(p, whole.bytes());
  SendrecvRequest* made = new SendrecvRequest;
  made->kind = Request::Kind::recv;
  made->comm = retain(&comm);
  made->recv_type = retain(&type);
  made->recv_buffer = whole;
  made->copy = std::move(copy);
  made->source = source;
  start_recv(p, made->recv, made->recv_buffer, source, recvtag, comm);
  send_copy(p, made->send, made->copy.get(), whole.bytes(), dest, sendtag, comm);
  request = made;
  return success;
}

}  // namespace hf::mpi
