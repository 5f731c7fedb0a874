#include "mpi/p2p_request.hpp"

#include <algorithm>

#include "mpi/buffered_calls.hpp"
#include "mpi/p2p_check.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {

void TypedBuffer::pack(std::size_t offset, MutableBytes out) const {
  if (out.empty()) return;
  pack_range(*type, buffer, count, offset, out);
}

engine::Source TypedBuffer::strided_source() const {
  auto pack = [](const void* self, std::size_t offset, MutableBytes out) {
    static_cast<const TypedBuffer*>(self)->pack(offset, out);
  };
  return {nullptr, bytes(), pack, this};
}

engine::Sink TypedBuffer::strided_sink() {
  auto unpack = [](void* self, std::size_t offset, Bytes in) {
    const TypedBuffer& into = *static_cast<TypedBuffer*>(self);
    unpack_range(*into.type, into.buffer, into.count, offset, in);
  };
  return {nullptr, bytes(), unpack, this};
}

int explain_buffer(Process& p, const void* buffer, Count count, const Datatype& type) {
  if (count < 0) return p.explain(err_count, fmt::format("count {} is negative", count));
  if (!type.committed) {
    return p.explain(err_type, fmt::format("datatype {} is not committed: call MPI_Type_commit before using it",
                                           type.name.empty() ? "(without a name)" : type.name));
  }
  if (!buffer) return p.explain(err_buffer, fmt::format("the buffer of {} elements is a null pointer", count));
  return p.explain(err_count, fmt::format("{} elements of {} bytes are more than an address can reach", count, type.size));
}

int explain_peer(Process& p, const char* what, int rank, int tag, bool receive, const Comm& comm) {
  if (tag < 0 && !(receive && tag == any_tag_value)) {
    return p.explain(err_tag, fmt::format("tag {} is not between 0 and {}{}", tag, tag_ub,
                                          receive ? ", nor MPI_ANY_TAG" : ""));
  }
  return p.explain(err_rank, fmt::format("{} rank {} is not in {}communicator {} of {} ranks", what, rank,
                                         comm.is_inter() ? "the remote group of " : "",
                                         comm.name.empty() ? "(without a name)" : comm.name, comm.peers().size()));
}

int comm_rank_of(const Comm& comm, Rank world) {
  const auto& members = comm.peers().members;
  const auto guess = static_cast<std::size_t>(world.value);
  if (guess < members.size() && members[guess] == world) return world.value;  // as in MPI_COMM_WORLD
  return comm.peers().rank_of(world);
}

int start_send(Process& p, engine::SendOperation& op, const TypedBuffer& from, int destination, int tag, SendKind kind,
               Comm& comm) {
  if (destination == proc_null) {
    op.complete = true;
    return success;
  }
  const Rank world = comm.world(destination);
  if (kind == SendKind::buffered) {
    op.complete = true;
    return start_buffered(p, from, world, MessageTag(tag), comm);
  }
  p.engine->send(op, comm.point, world, MessageTag(tag), from.source(), mode_of(kind));
  return success;
}

void start_recv(Process& p, engine::RecvOperation& op, TypedBuffer& into, int source, int tag, Comm& comm) {
  if (source == proc_null) {
    op.complete = true;
    return;
  }
  const Rank wanted = source == any_source ? any_rank : comm.world(source);
  p.engine->recv(op, comm.point, wanted, tag == any_tag_value ? any_tag : MessageTag(tag), into.sink());
}

int finish_recv(Process& p, const engine::RecvOperation& op, int wanted, const Comm& comm, Status& status) {
  if (wanted == proc_null) {
    status = proc_null_status();
    return success;
  }
  if (op.cancelled) {
    status.cancelled = true;
    return success;
  }
  status.source = wanted == any_source ? comm_rank_of(comm, op.source) : wanted;
  status.tag = op.tag.value;
  status.bytes = static_cast<Count>(op.bytes);
  if (__builtin_expect(!op.truncated, 1)) return success;
  status.bytes = static_cast<Count>(std::min(op.bytes, op.sink.capacity));
  return p.explain(err_truncate,
                   fmt::format("message of {} bytes from rank {} with tag {} does not fit the receive buffer of {} bytes",
                               op.bytes, status.source, status.tag, op.sink.capacity));
}

int SendRequest::finish(Process& p, Status& status) {
  p.engine->withdraw(op);
  status.cancelled = op.cancelled;
  return success;
}

int SendRequest::start(Process& p) {
  op = {};
  op.keeps_buffer = true;
  return start_send(p, op, buffer, destination, tag, send_kind, *comm);
}

int RecvRequest::start(Process& p) {
  op = {};
  cancel_asked = false;
  start_recv(p, op, buffer, source, tag, *comm);
  return success;
}

int RecvRequest::finish(Process& p, Status& status) {
  if (source == proc_null) {  // of MPI_MESSAGE_NO_PROC even without a communicator
    status = proc_null_status();
    return success;
  }
  return finish_recv(p, op, source, *comm, status);
}

// What has gone to another rank is not taken back, but its completion waits for nobody. Under `none` a large one waits for its receiver all the same.
int SendRequest::cancel(Process& p) {
  p.engine->complete_unmatched(op);
  return success;
}

// Asked also when the receive is complete: whether it is differs between a run and its replay, and the outcome of the
// first question is recorded. What follows from the program alone is not asked.
int RecvRequest::cancel(Process& p) {
  const bool posted = source != proc_null && !taken_by_probe;
  if (posted && !cancel_asked) p.engine->cancel(op);
  cancel_asked = true;
  return success;
}

int SendrecvRequest::finish(Process& p, Status& status) {
  p.engine->withdraw(send);
  return finish_recv(p, recv, source, *comm, status);
}

}  // namespace hf::mpi
