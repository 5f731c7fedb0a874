// Attaching, detaching and flushing buffers, and buffered sends (MPI 5.0, 3.6).
#include "mpi/buffered_calls.hpp"

#include <algorithm>
#include <memory>

#include "mpi/api.hpp"
#include "mpi/p2p_check.hpp"
#include "mpi/p2p_request.hpp"
#include "mpi/process.hpp"
#include "mpi/session.hpp"

namespace hf::mpi {
namespace {

// Complete once every message that was in the buffer when it was made has left (MPI_Buffer_iflush).
struct FlushRequest final : Request {
  std::shared_ptr<BufferSpace> space;  // null: nothing attached, nothing to wait for
  std::uint64_t serial = 0;
  bool done() const override { return !space || space->drained(serial); }
  Rank awaits() const override { return segment::several_ranks; }
  int finish(Process&, Status&) override { return success; }
};

using OfComm = std::pair<Comm*, std::shared_ptr<BufferSpace>>;

OfComm* entry_of(Process& p, const Comm& comm) {
  auto found = std::ranges::find(p.buffers.of_comm, &comm, [](const OfComm& e) { return e.first; });
  return found == p.buffers.of_comm.end() ? nullptr : &*found;
}

Keeps keeps(const Process& p) { return p.engine->job().logging ? Keeps::apart : Keeps::in_buffer; }

int check_attach(Process& p, void* buffer, Count size, bool attached) {
  if (attached) {
    return p.explain(err_buffer, "a buffer is attached already: detach it first");
  }
  if (buffer == buffer_automatic) return success;
  if (size < 0) return p.explain(err_arg, fmt::format("buffer size {} is negative", size));
  if (!buffer && size > 0) return p.explain(err_buffer, "the buffer to attach is a null pointer");
  return success;
}

void drain(Process& p, BufferSpace& space) {
  p.engine->wait([&] { return space.drained(space.last_serial()); }, [] { return segment::several_ranks; });
  space.sweep();
}

void hand_back(const std::shared_ptr<BufferSpace>& space, void* buffer_addr, Count& size) {
  *static_cast<void**>(buffer_addr) = space ? space->buffer() : nullptr;
  size = space && space->buffer() != buffer_automatic ? space->size() : 0;
}

int attach(Process& p, std::shared_ptr<BufferSpace>& space, void* buffer, Count size) {
  if (int code = check_attach(p, buffer, size, space != nullptr)) return code;
  space = std::make_shared<BufferSpace>(buffer, size, keeps(p));
  return success;
}

int detach(Process& p, std::shared_ptr<BufferSpace>& space, void* buffer_addr, Count& size) {
  if (space) drain(p, *space);
  hand_back(space, buffer_addr, size);
  space.reset();
  return success;
}

int iflush(std::shared_ptr<BufferSpace> space, Request*& request) {
  auto made = std::make_unique<FlushRequest>();
  made->kind = Request::Kind::null_operation;
  made->serial = space ? space->last_serial() : 0;
  made->space = std::move(space);
  request = made.release();
  return success;
}

}  // namespace

int buffer_attach(Process& p, void* buffer, Count size) { return attach(p, p.buffers.process, buffer, size); }

int buffer_detach(Process& p, void* buffer_addr, Count& size) { return detach(p, p.buffers.process, buffer_addr, size); }

int buffer_flush(Process& p) {
  if (p.buffers.process) drain(p, *p.buffers.process);
  return success;
}

int session_attach_buffer(Process& p, Session& session, void* buffer, Count size) {
  return attach(p, session.buffer, buffer, size);
}

int session_detach_buffer(Process& p, Session& session, void* buffer_addr, Count& size) {
  return detach(p, session.buffer, buffer_addr, size);
}

int session_flush_buffer(Process& p, Session& session) {
  if (session.buffer) drain(p, *session.buffer);
  return success;
}

int session_iflush_buffer(Process&, Session& session, Request*& request) { return iflush(session.buffer, request); }

int buffer_iflush(Process& p, Request*& request) { return iflush(p.buffers.process, request); }

int comm_attach_buffer(Process& p, Comm& comm, void* buffer, Count size) {
  if (int code = check_attach(p, buffer, size, entry_of(p, comm) != nullptr)) return code;
  p.buffers.of_comm.emplace_back(retain(&comm), std::make_shared<BufferSpace>(buffer, size, keeps(p)));
  return success;
}

int comm_detach_buffer(Process& p, Comm& comm, void* buffer_addr, Count& size) {
  hand_back(detach_buffer(p, comm), buffer_addr, size);
  return success;
}

int comm_flush_buffer(Process& p, Comm& comm) {
  if (OfComm* entry = entry_of(p, comm)) drain(p, *entry->second);
  return success;
}

int comm_iflush_buffer(Process& p, Comm& comm, Request*& request) {
  OfComm* entry = entry_of(p, comm);
  return iflush(entry ? entry->second : nullptr, request);
}

std::shared_ptr<BufferSpace> detach_buffer(Process& p, Comm& comm) {
  OfComm* entry = entry_of(p, comm);
  if (!entry) return nullptr;
  drain(p, *entry->second);
  auto space = std::move(entry->second);
  std::erase_if(p.buffers.of_comm, [&](const OfComm& e) { return e.first == &comm; });
  release(&comm);
  return space;
}

void flush_buffers(Process& p, const Session* of) {
  if (const auto& space = of ? of->buffer : p.buffers.process) drain(p, *space);
  for (auto& [comm, space] : p.buffers.of_comm) {
    if (comm->group->session == of) drain(p, *space);
  }
}

void give_up_process_buffer(Process& p) {
  if (p.buffers.process) drain(p, *p.buffers.process);
  p.buffers.process.reset();
}

int start_buffered(Process& p, const TypedBuffer& from, Rank destination, MessageTag tag, Comm& comm) {
  BufferSpace* space = p.buffers.find(comm);
  const std::size_t bytes = from.bytes();
  if (!space) {
    return p.explain(err_buffer, "buffered send without an attached buffer: call MPI_Buffer_attach first");
  }
  BufferSlot* slot = space->take(bytes);
  if (!slot) {
    // What fills the buffer may have left without this process having looked.
    p.engine->progress();
    slot = space->take(bytes);
  }
  if (!slot) {
    return p.explain(err_buffer,
                     fmt::format("no room in the attached buffer of {} bytes for a message of {} bytes (with up to {} more "
                                 "for bookkeeping): attach a larger one",
                                 space->size(), bytes, bsend_overhead));
  }
  slot->comm = retain(&comm);
  from.pack(0, {slot->payload(), bytes});
  p.engine->send(slot->op, comm.point, destination, tag, {slot->payload(), bytes}, engine::SendMode::standard);
  return success;
}

}  // namespace hf::mpi
