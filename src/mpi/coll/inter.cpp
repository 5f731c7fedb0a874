// Collectives without a root, between two groups: what each group has goes to all of the other.
#include "mpi/coll/inter.hpp"

#include <algorithm>
#include <numeric>

#include "mpi/coll/check.hpp"
#include "mpi/coll/gathered.hpp"

namespace hf::mpi {
namespace {

// Steps that bring the blocks of each group to rank 0 of the other; `gather` lists one direction, with the root's rank.
template <class Gather>
void list_gather_both_ways(Schedule& s, Gather&& gather) {
  Comm& comm = s.comm();
  for (const bool giving : {comm.is_lower(), !comm.is_lower()}) {
    if (!giving && comm.rank() != 0) continue;
    const Group &from = giving ? *comm.group : *comm.remote, &to = giving ? *comm.remote : *comm.group;
    s.among(from.members, std::span(to.members).first(1), giving ? comm.rank() : from.size());
    gather(giving, from.size());
  }
  s.among(*comm.group);
  s.settle();
}

// From rank 0 to all of the group; blocks that do not lie side by side go in one packed piece.
void list_bcast_blocks(Schedule& s, const Part* blocks, int n) {
  if (s.size() == 1) return;
  std::size_t bytes = 0;
  for (int i = 0; i < n; ++i) bytes += blocks[i].bytes;
  if (bytes == 0) return;
  std::byte* packed = s.temporary(bytes);
  auto copy_all = [&](bool pack) {
    std::byte* at = packed;
    for (int i = 0; i < n; at += blocks[i++].bytes) {
      const Part piece = Part::raw(at, blocks[i].bytes);
      s.copy(pack ? blocks[i] : piece, pack ? piece : blocks[i]);
    }
  };
  if (s.rank() == 0) copy_all(true);
  list_bcast(s, Part::raw(packed, bytes), 0);
  if (s.rank() == 0) return;
  s.settle();
  copy_all(false);
}

int check_sent(Process& p, Schedule& s, const void* buffer, Count count, Datatype& type, Part& own) {
  if (int code = check_block(p, "send", buffer, count, type)) return code;
  s.keep(type);
  own = Part::of(buffer, count, type);
  return success;
}

}  // namespace

void list_swap(Schedule& s, const Part& mine, const Part& theirs) {
  Comm& comm = s.comm();
  s.among(*comm.remote);
  if (comm.rank() == 0) {
    Schedule::Step* received = theirs.bytes ? s.recv(0, theirs) : nullptr;
    if (mine.bytes) s.send(0, mine);
    s.wait(received);
  }
  s.among(*comm.group);
  list_bcast(s, theirs, 0);
}

// As in one group of as many ranks as the larger one has: in step i with the ranks i further and i before, where they exist.
void list_inter_exchange(Schedule& s, const Part* out, const Part* in) {
  const Comm& comm = s.comm();
  const int remote = comm.remote->size(), ranks = std::max(comm.size(), remote);
  auto** sent = s.array<Schedule::Step*>(ranks);
  auto** received = s.array<Schedule::Step*>(ranks);
  s.among(*comm.remote);
  for (int i = 0; i < ranks; ++i) {
    if (i >= exchange_window) {
      s.wait(received[i - exchange_window]);
      s.wait(sent[i - exchange_window]);
    }
    const int to = (comm.rank() + i) % ranks, from = (comm.rank() - i + ranks) % ranks;
    if (from < remote && in[from].bytes) received[i] = s.recv(from, in[from]);
    if (to < remote && out[to].bytes) sent[i] = s.send(to, out[to]);
  }
}

int make_inter_allgather(Process& p, Schedule& s, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                         Count recvcount, Datatype& recvtype) {
  const int remote = s.comm().remote->size();
  Part own;
  if (int code = check_sent(p, s, sendbuf, sendcount, sendtype, own)) return code;
  if (int code = check_in_place(p, "receive", recvbuf)) return code;
  if (int code = check_blocks(p, "receive", recvbuf, recvcount, recvtype, remote)) return code;
  s.keep(recvtype);
  const Part all = Part::of(recvbuf, recvcount * remote, recvtype);
  list_gather_both_ways(s, [&](bool giving, int root) {
    if (giving) list_gather(s, &own, nullptr, own.bytes, root);
    else list_gather(s, nullptr, &all, static_cast<std::size_t>(recvcount * recvtype.size), root);
  });
  list_bcast(s, all, 0);
  return success;
}

int make_inter_allgatherv(Process& p, Schedule& s, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                          const CountArray& recvcounts, const CountArray& displs, Datatype& recvtype) {
  const int remote = s.comm().remote->size();
  Part own;
  if (int code = check_sent(p, s, sendbuf, sendcount, sendtype, own)) return code;
  if (int code = check_in_place(p, "receive", recvbuf)) return code;
  if (int code = check_vector(p, "receive", recvbuf, recvcounts, displs, recvtype, remote)) return code;
  s.keep(recvtype);
  auto* blocks = s.array<Part>(remote);
  for (int i = 0; i < remote; ++i) {
    const auto at = static_cast<std::size_t>(i);
    blocks[i] = Part::of(static_cast<std::byte*>(recvbuf) + displs[at] * recvtype.extent, recvcounts[at], recvtype);
  }
  list_gather_both_ways(s, [&](bool giving, int root) {
    list_gather_linear(s, giving ? &own : nullptr, giving ? nullptr : blocks, root);
  });
  list_bcast_blocks(s, blocks, remote);
  return success;
}

// All of a group have its result, and each gives it to those of the other group whose number is their own, modulo their number.
void list_inter_allreduce(Schedule& s, const Reduction& r, const void* send, void* receive) {
  if (r.bytes() == 0) return;
  if (s.defers(*r.op)) return list_gathered_inter(s, r, send, receive, 0, r.count);
  Comm& comm = s.comm();
  std::byte* result = s.temporary(r.count, *r.type);
  list_allreduce(s, r, send, result);
  s.settle();
  s.among(*comm.remote);
  s.recv(comm.rank() % comm.remote->size(), r.part(receive));
  for (int i = comm.rank(); i < comm.remote->size(); i += comm.size()) s.send(i, r.part(result));
}

void list_inter_reduce_scatter(Schedule& s, const Reduction& r, const void* send, void* receive, const Count* counts) {
  if (r.bytes() == 0) return;
  Comm& comm = s.comm();
  if (s.defers(*r.op)) {
    const Count from = std::accumulate(counts, counts + comm.rank(), Count{0});
    return list_gathered_inter(s, r, send, receive, from, counts[comm.rank()]);
  }
  const bool first = comm.rank() == 0;
  std::byte* mine = first ? s.temporary(r.count, *r.type) : nullptr;
  std::byte* theirs = first ? s.temporary(r.count, *r.type) : nullptr;
  list_reduce(s, r, send, mine, 0);
  s.settle();
  Part* blocks = nullptr;
  if (first) {
    s.among(*comm.remote);
    Schedule::Step* received = s.recv(0, r.part(theirs));
    s.send(0, r.part(mine));
    s.wait(received);
    s.among(*comm.group);
    blocks = s.array<Part>(comm.size());
    Count from = 0;
    for (int i = 0; i < comm.size(); from += counts[i++]) blocks[i] = r.part(theirs, from, counts[i]);
  }
  const Part own = r.part(receive, 0, counts[comm.rank()]);
  list_scatter_linear(s, blocks, &own, 0);
}

}  // namespace hf::mpi
