#include "mpi/partitioned.hpp"

#include <algorithm>
#include <utility>

#include "mpi/api.hpp"
#include "mpi/comm_make.hpp"
#include "mpi/context_name.hpp"
#include "mpi/p2p_check.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

int check(Process& p, const void* buf, int partitions, Count count, Datatype& type, const char* what, int rank, int tag, Comm& comm) {
  if (partitions < 0) return p.explain(err_arg, fmt::format("{} partitions", partitions));
  Count all = 0;
  if (count < 0 || __builtin_mul_overflow(count, Count{partitions}, &all)) return p.explain(err_count, fmt::format("count {}", count));
  if (int code = check_buffer(p, buf, all, type)) return code;
  // There are no wildcards here (4.2.1).
  const bool peer_is_wrong = (rank < 0 || rank >= comm.peers().size()) && rank != proc_null;
  return tag < 0 || peer_is_wrong ? explain_peer(p, what, rank, tag, false, comm) : success;
}

Context naming_context(Process& p, Comm& comm) {
  const Context context = context_sibling(comm.point, ContextKind::channels);
  if (!comm.channels_open) p.engine->open_context(context);
  comm.channels_open = true;
  return context;
}

const std::byte* partition_begin(const void* buf, int partition, Count count, const Datatype& type) {
  return static_cast<const std::byte*>(buf) + Count{partition} * count * type.extent;
}

int check_ready(Process& p, const PsendRequest& request, int partition) {
  if (partition < 0 || partition >= std::ssize(request.parts)) {
    return p.explain(err_arg, fmt::format("partition {} of a request with {}", partition, request.parts.size()));
  }
  if (!request.parts[static_cast<std::size_t>(partition)].ready) return success;
  return p.explain(err_arg, fmt::format("partition {} is ready already", partition));
}

void send_partition(Process& p, PsendRequest& request, int partition) {
  PsendRequest::Part& part = request.parts[static_cast<std::size_t>(partition)];
  part.ready = true;
  if (request.destination == proc_null) {
    part.op.complete = true;
    return;
  }
#ifdef HOLDFAST_MUTATE_NUMBER_AT_READY
  part.op.sequence = p.engine->reserve_send(request.told->name.context, request.told->op.destination);
#endif
  p.engine->send_numbered(part.op, request.told->name.context, request.told->op.destination, part.op.sequence, part.buffer.source());
}

// The request, if it is one of MPI_Psend_init that was started.
PsendRequest* started(Process& p, Request& request, int& code) {
  auto* send = dynamic_cast<PsendRequest*>(&request);
  if (send && send->active) return send;
  p.blame(request.comm);
  code = p.explain(err_request, send ? "MPI_Pready on a request that was not started"
                                     : "MPI_Pready on a request that is not of MPI_Psend_init");
  return nullptr;
}

// All or none.
template <class Partitions>
int make_ready(Process& p, Request& request, const Partitions& partitions) {
  int code = success;
  PsendRequest* send = started(p, request, code);
  if (!send) return code;
  std::vector<char> named(partitions.size() > 1 ? send->parts.size() : 0);
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    code = check_ready(p, *send, partitions[i]);
    if (!code && !named.empty() && std::exchange(named[static_cast<std::size_t>(partitions[i])], 1)) {
      code = p.explain(err_arg, fmt::format("partition {} is named twice", partitions[i]));
    }
    if (code) {
      p.blame(request.comm);
      return code;
    }
  }
  for (std::size_t i = 0; i < partitions.size(); ++i) send_partition(p, *send, partitions[i]);
  return success;
}

struct Range {
  int low, high;
  std::size_t size() const { return low > high ? 0 : static_cast<std::size_t>(high - low) + 1; }
  int operator[](std::size_t i) const { return low + static_cast<int>(i); }
};

}  // namespace

// ---- sending

PsendRequest::~PsendRequest() {
  if (!told->op.complete && destination != proc_null) (void)told.release();
  release(type);
}

bool PsendRequest::done() const {
  return std::ranges::all_of(parts, [](const Part& part) { return part.ready && part.op.complete; });
}

int PsendRequest::finish(Process& p, Status&) {
  for (Part& part : parts) p.engine->withdraw(part.op);
  return success;
}

int PsendRequest::start([[maybe_unused]] Process& p) {
  for (Part& part : parts) {
    part.ready = false;
    part.op = {};
    part.op.keeps_buffer = true;
#ifndef HOLDFAST_MUTATE_NUMBER_AT_READY
    if (destination != proc_null) part.op.sequence = p.engine->reserve_send(told->name.context, told->op.destination);
#endif
  }
  return success;
}

int psend_init(Process& p, const void* buf, int partitions, Count count, Datatype& type, int dest, int tag, Comm& comm, Info*,
               Request*& request) {
  if (int code = check(p, buf, partitions, count, type, "destination", dest, tag, comm)) return code;
  Context point{};
  if (dest != proc_null) {
    if (int code = draw_name(p, point)) return code;
  }
  auto* made = new PsendRequest;
  made->kind = Request::Kind::send;
  made->persistent = true;
  made->active = false;
  made->comm = retain(&comm);
  made->type = retain(&type);
  made->destination = dest;
  made->parts.resize(static_cast<std::size_t>(partitions));
  for (int i = 0; i < partitions; ++i) {
    made->parts[static_cast<std::size_t>(i)].buffer = typed(partition_begin(buf, i, count, type), count, type);
  }
  request = made;
  if (dest == proc_null) return success;
  PsendRequest::Told& told = *made->told;
  told.name = {context_sibling(point, ContextKind::collective), static_cast<std::uint64_t>(count * type.size),
               static_cast<std::uint64_t>(partitions)};
  made->channel.emplace(*p.engine, told.name.context);
  const engine::Source source{reinterpret_cast<const std::byte*>(&told.name), sizeof told.name};
  p.engine->send(told.op, naming_context(p, comm), comm.world(dest), MessageTag(tag), source, engine::SendMode::standard);
  return success;
}

int pready(Process& p, int partition, Request& request) { return make_ready(p, request, Range{partition, partition}); }

int pready_range(Process& p, int low, int high, Request& request) { return make_ready(p, request, Range{low, high}); }

int pready_list(Process& p, int length, const int* partitions, Request& request) {
  return make_ready(p, request, std::span(partitions, static_cast<std::size_t>(length)));
}

// ---- receiving

PrecvRequest::~PrecvRequest() {
  if (awaiting) engine->remove(*this);
  if (!told->op.complete && source != proc_null) (void)told.release();
  release(type);
}

// The sender's partitions are known from now on, and cut the receive buffer as they cut the send buffer.
void PrecvRequest::post() {
  posted = true;
  const ChannelName& name = told->name;
  if (!channel) {
    parts = std::vector<Part>(name.partitions);
    channel.emplace(*engine, name.context);
  }
  const std::size_t room = buffer.bytes();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part& part = parts[i];
    part.owner = this;
    part.begin = std::min(i * name.partition_bytes, room);
    part.op = {};
    engine::Sink sink{nullptr, std::min(room - part.begin, name.partition_bytes)};
    if (buffer.type->contiguous) {
      sink.data = static_cast<std::byte*>(buffer.buffer) + part.begin;
    } else {
      sink.self = &part;
      sink.unpack = [](void* self, std::size_t offset, Bytes in) {
        const auto& of = *static_cast<const Part*>(self);
        const TypedBuffer& into = of.owner->buffer;
        unpack_range(*into.type, into.buffer, into.count, of.begin + offset, in);
      };
    }
    engine->recv_next_numbered(part.op, name.context, told->op.source, sink);
  }
}

int PrecvRequest::start(Process&) {
  posted = false;
  if (source == proc_null) return success;
  if (told->op.complete) {
    post();
  } else if (!awaiting) {
    awaiting = true;
    engine->add(*this);
  }
  return success;
}

bool PrecvRequest::progress() {
  if (!told->op.complete) return false;
  awaiting = false;
  if (!posted && active) post();
  return true;
}

bool PrecvRequest::done() const {
  return source == proc_null || (posted && std::ranges::all_of(parts, [](const Part& part) { return part.op.complete; }));
}

// It overlaps those of the sender that begin in it, and the one before.
bool PrecvRequest::arrived(int partition) const {
  if (source == proc_null) return true;
  if (!posted) return false;
  const std::size_t bytes = buffer.bytes() / static_cast<std::size_t>(partitions);
  if (bytes == 0) return done();  // it begins nowhere
  const std::size_t begin = static_cast<std::size_t>(partition) * bytes, end = begin + bytes;
  return std::ranges::all_of(parts, [&](const Part& part) {
    const bool apart = part.begin >= end || part.begin + told->name.partition_bytes <= begin;
    return apart || part.op.complete;
  });
}

int PrecvRequest::finish(Process& p, Status& status) {
  if (source == proc_null) {
    status = proc_null_status();
    return success;
  }
  const std::uint64_t sent = told->name.partition_bytes * told->name.partitions;
  status.source = source;
  status.tag = tag;
  status.bytes = static_cast<Count>(std::min<std::uint64_t>(sent, buffer.bytes()));
  if (sent <= buffer.bytes()) return success;
  return p.explain(err_truncate, fmt::format("{} partitions of {} bytes from rank {} do not fit the receive buffer of {} bytes",
                                             told->name.partitions, told->name.partition_bytes, source, buffer.bytes()));
}

int precv_init(Process& p, void* buf, int partitions, Count count, Datatype& type, int source, int tag, Comm& comm, Info*,
               Request*& request) {
  if (int code = check(p, buf, partitions, count, type, "source", source, tag, comm)) return code;
  auto* made = new PrecvRequest;
  made->kind = Request::Kind::recv;
  made->persistent = true;
  made->active = false;
  made->comm = retain(&comm);
  made->type = retain(&type);
  made->buffer = typed(buf, count * partitions, type);
  made->partitions = partitions;
  made->engine = p.engine.get();
  made->source = source;
  made->tag = tag;
  request = made;
  if (source == proc_null) return success;
  PrecvRequest::Told& told = *made->told;
  const engine::Sink sink{reinterpret_cast<std::byte*>(&told.name), sizeof told.name};
  p.engine->recv(told.op, naming_context(p, comm), comm.world(source), MessageTag(tag), sink);
  return success;
}

int parrived(Process& p, Request* request, int partition, int& flag) {
  if (!request) {  // 4.2.3
    flag = 1;
    return success;
  }
  auto* recv = dynamic_cast<PrecvRequest*>(request);
  int code = success;
  if (!recv) {
    code = p.explain(err_request, "MPI_Parrived on a request that is not of MPI_Precv_init");
  } else if (partition < 0 || partition >= recv->partitions) {
    code = p.explain(err_arg, fmt::format("partition {} of a request with {}", partition, recv->partitions));
  }
  if (code) {
    p.blame(request->comm);
    return code;
  }
  flag = !recv->active || recv->source == proc_null;
  if (flag) return success;
  using Plan = engine::Engine::TestPlan;
  const Plan plan = p.engine->begin_test();
  if (plan.kind == Plan::nothing) {
    p.engine->progress();
    return success;
  }
  if (plan.kind == Plan::exactly) {
    p.engine->wait([&] { return recv->arrived(partition); }, [&] { return recv->awaits(); });
    flag = 1;
    return success;
  }
  flag = recv->arrived(partition);
  if (!flag) {
    p.engine->progress();
    flag = recv->arrived(partition);
  }
  constexpr std::int32_t found[] = {0};
  p.engine->end_test(std::span(found, flag ? 1 : 0));
  return success;
}

}  // namespace hf::mpi
