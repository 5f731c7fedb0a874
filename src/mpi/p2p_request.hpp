// Requests of point-to-point operations, and how typed buffers become the engine's sources and sinks.
#pragma once
#include <cstddef>
#include <memory>

#include "engine/operation.hpp"
#include "mpi/datatype.hpp"
#include "mpi/pool.hpp"
#include "mpi/request.hpp"

namespace hf::mpi {

// A buffer of the program: `count` elements of a type. Must stay in place while an operation made of it is under way.
struct TypedBuffer {
  const Datatype* type = nullptr;
  void* buffer = nullptr;
  Count count = 0;

  std::size_t bytes() const { return static_cast<std::size_t>(count * type->size); }
  void pack(std::size_t offset, MutableBytes out) const;
  engine::Source source() const {
    if (type->contiguous) return {static_cast<const std::byte*>(buffer), bytes()};
    return strided_source();
  }
  engine::Sink sink() {
    if (type->contiguous) return {static_cast<std::byte*>(buffer), bytes()};
    return strided_sink();
  }

 private:
  engine::Source strided_source() const;
  engine::Sink strided_sink();
};

inline TypedBuffer typed(const void* buffer, Count count, const Datatype& type) {
  return {&type, const_cast<void*>(buffer), count};
}

enum class SendKind : std::uint8_t { standard, buffered, synchronous, ready };

inline engine::SendMode mode_of(SendKind kind) {
  return kind == SendKind::synchronous ? engine::SendMode::synchronous : engine::SendMode::standard;
}

// Whose doing a send-receive waits for.
inline Rank awaited(const engine::SendOperation& send, const engine::RecvOperation& recv) {
  if (send.complete) return recv.source;
  return recv.complete ? send.destination : segment::both(send.destination, recv.source);
}

struct SendRequest final : Request, Pooled<SendRequest> {
  engine::SendOperation op;
  TypedBuffer buffer;
  Datatype* type = nullptr;  // one reference
  int destination = proc_null;
  int tag = 0;
  SendKind send_kind = SendKind::standard;

  ~SendRequest() override { release(type); }
  bool done() const override { return op.complete; }
  Rank awaits() const override { return op.destination; }
  int finish(Process&, Status&) override;
  int start(Process&) override;
  int cancel(Process&) override;
};

struct RecvRequest final : Request, Pooled<RecvRequest> {
  engine::RecvOperation op;
  TypedBuffer buffer;
  Datatype* type = nullptr;  // one reference
  int source = proc_null;
  int tag = any_tag_value;
  bool taken_by_probe = false;  // MPI_Imrecv: matched before it was made
  bool cancel_asked = false;

  ~RecvRequest() override { release(type); }
  bool done() const override { return op.complete; }
  Rank awaits() const override { return op.source; }
  int finish(Process&, Status&) override;
  int start(Process&) override;
  int cancel(Process&) override;
};

// MPI_Isendrecv and MPI_Isendrecv_replace; the latter sends from a packed copy.
struct SendrecvRequest final : Request, Pooled<SendrecvRequest> {
  engine::SendOperation send;
  engine::RecvOperation recv;
  TypedBuffer send_buffer, recv_buffer;
  Datatype* send_type = nullptr;  // one reference each
  Datatype* recv_type = nullptr;
  std::unique_ptr<std::byte[]> copy;
  int source = proc_null;

  ~SendrecvRequest() override {
    release(send_type);
    release(recv_type);
  }
  bool done() const override { return send.complete && recv.complete; }
  Rank awaits() const override { return awaited(send, recv); }
  int finish(Process&, Status&) override;
};

// Starts one side; `wanted` of MPI_PROC_NULL completes at once. The arguments have been checked.
int start_send(Process& p, engine::SendOperation& op, const TypedBuffer& from, int destination, int tag, SendKind kind,
               Comm& comm);
void start_recv(Process& p, engine::RecvOperation& op, TypedBuffer& into, int source, int tag, Comm& comm);
// Fills the status of a completed receive that asked for `wanted` (a rank, MPI_ANY_SOURCE or MPI_PROC_NULL).
int finish_recv(Process& p, const engine::RecvOperation& op, int wanted, const Comm& comm, Status& status);
// The status of a receive from MPI_PROC_NULL.
inline Status proc_null_status() { return {.source = proc_null, .tag = any_tag_value}; }
// A job-wide rank as the rank by which the communicator's user names it as a peer.
int comm_rank_of(const Comm& comm, Rank world);

}  // namespace hf::mpi
