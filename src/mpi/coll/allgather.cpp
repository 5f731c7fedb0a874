// Allgather and allgatherv. Bruck's algorithm, in which the blocks known are doubled in each of log2(ranks) rounds, for any
// number of ranks; a ring, every block straight into its place; linear: each sends its own to all others, in one round.
#include "mpi/api.hpp"
#include "mpi/coll/algorithms.hpp"
#include "mpi/coll/check.hpp"
#include "mpi/coll/inter.hpp"
#include "mpi/coll/run.hpp"

namespace hf::mpi {
namespace {

void list_bruck(Schedule& s, const Part& own, const Part* blocks) {
  const int size = s.size(), rank = s.rank();
  auto* start = s.array<std::size_t>(size + 1);  // of the block of rank + i in the packed buffer
  for (int i = 0; i < size; ++i) start[i + 1] = start[i] + blocks[(rank + i) % size].bytes;
  std::byte* all = s.temporary(start[size]);
  s.copy(own, Part::raw(all, start[1]));
  for (int known = 1; known < size; known *= 2) {
    const int n = known < size - known ? known : size - known;
    Schedule::Step* more = nullptr;
    const std::size_t in = start[known + n] - start[known];
    if (in) more = s.recv((rank + known) % size, Part::raw(all + start[known], in));
    if (start[n]) s.send((rank - known + size) % size, Part::raw(all, start[n]));
    s.wait(more);
  }
  const int skip = &own == &blocks[rank] ? 1 : 0;
  for (int i = skip; i < size; ++i) s.copy(Part::raw(all + start[i], start[i + 1] - start[i]), blocks[(rank + i) % size]);
}

void list_ring(Schedule& s, const Part& own, const Part* blocks) {
  const int size = s.size(), rank = s.rank(), right = (rank + 1) % size, left = (rank - 1 + size) % size;
  const bool apart = &own != &blocks[rank];
  for (int i = 0; i + 1 < size; ++i) {
    const Part& out = i == 0 ? own : blocks[(rank - i + size) % size];
    const Part& in = blocks[(rank - i - 1 + size) % size];
    Schedule::Step* step = in.bytes ? s.recv(left, in) : nullptr;
    if (out.bytes) s.send(right, out);
    if (i == 0 && apart) s.copy(own, blocks[rank]);  // while the first ones are on their way
    s.wait(step);
  }
  if (size == 1 && apart) s.copy(own, blocks[rank]);
}

void list_linear(Schedule& s, const Part& own, const Part* blocks) {
  const int size = s.size(), rank = s.rank();
  for (int i = 1; i < size && own.bytes; ++i) s.send((rank + i) % size, own);
  if (&own != &blocks[rank]) s.copy(own, blocks[rank]);
  for (int i = 1; i < size; ++i) {
    const Part& in = blocks[(rank + i) % size];
    if (in.bytes) s.recv((rank + i) % size, in);
  }
  s.settle();
}

int make_allgather(Process& p, Schedule& s, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                   Count recvcount, Datatype& recvtype, Comm& comm) {
  if (comm.is_inter()) return make_inter_allgather(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype);
  const bool placed = sendbuf == in_place;
  if (!placed) {
    if (int code = check_block(p, "send", sendbuf, sendcount, sendtype)) return code;
    s.keep(sendtype);
  }
  if (int code = check_in_place(p, "receive", recvbuf)) return code;
  if (int code = check_blocks(p, "receive", recvbuf, recvcount, recvtype, comm.size())) return code;
  if (!placed && comm.rank() > 0) {
    if (int code = check_apart(p, sendbuf, sendcount, sendtype, recvbuf, recvtype)) return code;
  }
  s.keep(recvtype);
  auto* blocks = s.array<Part>(comm.size());
  for (int i = 0; i < comm.size(); ++i) {
    blocks[i] = Part::of(static_cast<std::byte*>(recvbuf) + i * recvcount * recvtype.extent, recvcount, recvtype);
  }
  const Part own = placed ? Part{} : Part::of(sendbuf, sendcount, sendtype);
  list_allgather(s, placed ? nullptr : &own, blocks);
  return success;
}

int make_allgatherv(Process& p, Schedule& s, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                    CountArray recvcounts, CountArray displs, Datatype& recvtype, Comm& comm) {
  if (comm.is_inter()) {
    return make_inter_allgatherv(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype);
  }
  const bool placed = sendbuf == in_place;
  if (!placed) {
    if (int code = check_block(p, "send", sendbuf, sendcount, sendtype)) return code;
    s.keep(sendtype);
  }
  if (int code = check_in_place(p, "receive", recvbuf)) return code;
  if (int code = check_vector(p, "receive", recvbuf, recvcounts, displs, recvtype, comm.size())) return code;
  s.keep(recvtype);
  auto* blocks = s.array<Part>(comm.size());
  for (int i = 0; i < comm.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    blocks[i] = Part::of(static_cast<std::byte*>(recvbuf) + displs[at] * recvtype.extent, recvcounts[at], recvtype);
  }
  const Part own = placed ? Part{} : Part::of(sendbuf, sendcount, sendtype);
  list_allgather(s, placed ? nullptr : &own, blocks);
  return success;
}

}  // namespace

void list_allgather(Schedule& s, const Part* own, const Part* blocks) {
  std::size_t total = 0;
  for (int i = 0; i < s.size(); ++i) total += blocks[i].bytes;
  if (total == 0) return;
  const Part& mine = own ? *own : blocks[s.rank()];
  const Algorithm algorithm = s.choose(Collective::allgather, total);
  if (algorithm == Algorithm::bruck) list_bruck(s, mine, blocks);
  else if (algorithm == Algorithm::linear) list_linear(s, mine, blocks);
  else list_ring(s, mine, blocks);
}

int allgather(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
              Datatype& recvtype, Comm& comm) {
  return run_collective(p, comm, "Allgather", [&](Schedule& s) {
    return make_allgather(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  });
}

int iallgather(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
               Datatype& recvtype, Comm& comm, Request*& request) {
  return start_collective(p, comm, "Iallgather", request, [&](Schedule& s) {
    return make_allgather(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  });
}

int allgather_init(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
                   Datatype& recvtype, Comm& comm, Info*, Request*& request) {
  return init_collective(p, comm, "Allgather_init", request, [&](Schedule& s) {
    return make_allgather(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  });
}

int allgatherv(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, CountArray recvcounts,
               CountArray displs, Datatype& recvtype, Comm& comm) {
  return run_collective(p, comm, "Allgatherv", [&](Schedule& s) {
    return make_allgatherv(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
  });
}

int iallgatherv(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, CountArray recvcounts,
                CountArray displs, Datatype& recvtype, Comm& comm, Request*& request) {
  return start_collective(p, comm, "Iallgatherv", request, [&](Schedule& s) {
    return make_allgatherv(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
  });
}

int allgatherv_init(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                    CountArray recvcounts, CountArray displs, Datatype& recvtype, Comm& comm, Info*,
                    Request*& request) {
  return init_collective(p, comm, "Allgatherv_init", request, [&](Schedule& s) {
    return make_allgatherv(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
  });
}

}  // namespace hf::mpi
