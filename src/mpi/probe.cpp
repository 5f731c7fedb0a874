// Probes and matched receives (MPI 5.0, 3.8).
#include "mpi/api.hpp"
#include "mpi/message.hpp"
#include "mpi/p2p_check.hpp"
#include "mpi/p2p_request.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

Rank wanted_rank(int source, const Comm& comm) { return source == any_source ? any_rank : comm.world(source); }
MessageTag wanted_tag(int tag) { return tag == any_tag_value ? any_tag : MessageTag(tag); }

// Of a ProbeResult or a MatchedMessage.
template <class Found>
void fill(Status* status, const Found& found, const Comm& comm) {
  if (!status) return;
  *status = {.source = comm_rank_of(comm, found.source),
             .tag = found.tag.value,
             .bytes = static_cast<Count>(found.bytes)};
}

Message* make_message(const engine::MatchedMessage& matched, Comm& comm) {
  Message* made = new Message;
  made->matched = matched;
  made->comm = retain(&comm);
  return made;
}

void probe_null(Status* status) {
  if (status) *status = proc_null_status();
}

}  // namespace

int probe(Process& p, int source, int tag, Comm& comm, Status* status) {
  if (int code = check_source(p, source, tag, comm)) return code;
  if (source == proc_null) {
    probe_null(status);
    return success;
  }
  engine::ProbeResult found;
  p.engine->probe_wait(comm.point, wanted_rank(source, comm), wanted_tag(tag), found);
  fill(status, found, comm);
  return success;
}

int iprobe(Process& p, int source, int tag, Comm& comm, int& flag, Status* status) {
  if (int code = check_source(p, source, tag, comm)) return code;
  if (source == proc_null) {
    flag = 1;
    probe_null(status);
    return success;
  }
  engine::ProbeResult found;
  flag = p.engine->iprobe(comm.point, wanted_rank(source, comm), wanted_tag(tag), found);
  if (flag) fill(status, found, comm);
  return success;
}

int mprobe(Process& p, int source, int tag, Comm& comm, Message*& message, Status* status) {
  if (int code = check_source(p, source, tag, comm)) return code;
  if (source == proc_null) {
    message = &p.message_no_proc;
    probe_null(status);
    return success;
  }
  engine::MatchedMessage found;
  p.engine->mprobe_wait(comm.point, wanted_rank(source, comm), wanted_tag(tag), found);
  fill(status, found, comm);
  message = make_message(found, comm);
  return success;
}

int improbe(Process& p, int source, int tag, Comm& comm, int& flag, Message*& message, Status* status) {
  if (int code = check_source(p, source, tag, comm)) return code;
  if (source == proc_null) {
    flag = 1;
    message = &p.message_no_proc;
    probe_null(status);
    return success;
  }
  engine::MatchedMessage found;
  flag = p.engine->improbe(comm.point, wanted_rank(source, comm), wanted_tag(tag), found);
  if (!flag) return success;
  fill(status, found, comm);
  message = make_message(found, comm);
  return success;
}

int mrecv(Process& p, void* buf, Count count, Datatype& type, Message*& message, Status* status) {
  if (!message) return p.explain(err_request, "MPI_Mrecv of MPI_MESSAGE_NULL");
  if (message == &p.message_no_proc) {
    message = nullptr;
    probe_null(status);
    return success;
  }
  if (int code = check_buffer(p, buf, count, type)) {
    p.blame(message->comm);
    return code;
  }
  engine::RecvOperation op;
  TypedBuffer into = typed(buf, count, type);
  p.engine->recv_matched(op, message->matched, into.sink());
  p.engine->wait_for(op.complete, op.source);
  Status made;
  const int code = finish_recv(p, op, any_source, *message->comm, made);
  if (status) *status = made;
  if (code) p.blame(message->comm);
  release(message);
  message = nullptr;
  return code;
}

int imrecv(Process& p, void* buf, Count count, Datatype& type, Message*& message, Request*& request) {
  if (!message) return p.explain(err_request, "MPI_Imrecv of MPI_MESSAGE_NULL");
  if (int code = check_buffer(p, buf, count, type)) {
    p.blame(message->comm);
    return code;
  }
  RecvRequest* made = new RecvRequest;
  made->kind = Request::Kind::recv;
  made->type = retain(&type);
  made->buffer = typed(buf, count, type);
  if (message == &p.message_no_proc) {
    made->op.complete = true;
  } else {
    made->comm = retain(message->comm);
    made->source = any_source;
    made->taken_by_probe = true;
    p.engine->recv_matched(made->op, message->matched, made->buffer.sink());
    release(message);
  }
  message = nullptr;
  request = made;
  return success;
}

}  // namespace hf::mpi
