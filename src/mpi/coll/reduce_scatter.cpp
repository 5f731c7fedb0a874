// Reduce-scatter. Recursive halving, for commutative operations. Pairwise: each block from every rank straight to the one that
// keeps it, which reduces them in rank order.
#include <fmt/format.h>

#include "mpi/api.hpp"
#include "mpi/coll/algorithms.hpp"
#include "mpi/coll/check.hpp"
#include "mpi/coll/gathered.hpp"
#include "mpi/coll/inter.hpp"
#include "mpi/coll/run.hpp"

namespace hf::mpi {
namespace {

void list_by_halving(Schedule& s, const Reduction& r, const void* send, void* receive, const Count* first) {
  const int rank = s.rank();
  const Count mine = first[rank], n = first[rank + 1] - mine;
  auto* data = s.temporary(r.count, *r.type);
  Halving h = plan_halving(s, -1);
  auto* blocks = s.array<Count>(h.ranks + 1);
  for (int i = 0; i < h.ranks; ++i) blocks[i] = first[i < h.extra ? 2 * i : i + h.extra];
  blocks[h.ranks] = r.count;
  h.first = blocks;
  list_halving(s, r, h, send, data);
  const int pair = h.pair_of(rank);
  if (h.self < 0) {
    if (n) s.recv(pair, r.part(receive, 0, n));
    return;
  }
  const Count pair_n = pair < 0 ? 0 : first[pair + 1] - first[pair];
  if (pair_n) s.send(pair, r.part(data, first[pair], pair_n));
  s.copy(r.part(data, mine, n), r.part(receive, 0, n));
}

// Every rank's block for this one, reduced in rank order, the last one where the result belongs.
void list_pairwise(Schedule& s, const Reduction& r, const void* send, void* receive, const Count* first) {
  const int size = s.size(), rank = s.rank();
  const Count mine = first[rank], n = first[rank + 1] - mine;
  auto** received = s.array<Schedule::Step*>(size);
  auto** sent = s.array<Schedule::Step*>(size);
  auto** theirs = s.array<void*>(size);
  const bool placed = send == receive;  // then the result goes over blocks of others
  auto room = [&](int from) { return !placed && from == size - 1 ? receive : s.temporary(n, *r.type); };
  for (int i = 1; i < size; ++i) {
    const int to = (rank + i) % size, from = (rank - i + size) % size;
    if (n) {
      theirs[from] = room(from);
      received[from] = s.recv(from, r.part(theirs[from], 0, n));
    }
    const Count out = first[to + 1] - first[to];
    if (out) sent[to] = s.send(to, r.part(send, first[to], out));
  }
  if (n == 0) return;
  if (rank == 0) {
    theirs[rank] = r.at(send, mine);  // only read
  } else {
    theirs[rank] = room(rank);
    s.copy(r.part(send, mine, n), r.part(theirs[rank], 0, n));
  }
  for (int i = 1; i < size; ++i) {
    s.wait(received[i - 1]);
    s.wait(received[i]);
    s.reduce(*r.op, theirs[i - 1], theirs[i], n, *r.type);
  }
  if (!placed) return;
  for (int i = 0; i < size; ++i) s.wait(sent[i]);
  s.copy(r.part(theirs[size - 1], 0, n), r.part(receive, 0, n));
}

int make_reduce_scatter(Process& p, Schedule& s, const void* sendbuf, void* recvbuf, const Count* counts, Datatype& type,
                        Op& op) {
  Count total = 0;
  for (int i = 0; i < s.size(); ++i) {
    if (counts[i] < 0) {
      return p.explain(err_count, fmt::format("the count for rank {} is {}: it must not be negative", i, counts[i]));
    }
    if (__builtin_add_overflow(total, counts[i], &total)) {
      return p.explain(err_count, "the counts are together more data than memory can hold");
    }
  }
  const bool inter = s.comm().is_inter(), placed = sendbuf == in_place;
  if (inter) {
    if (int code = check_in_place(p, "send", sendbuf)) return code;
  }
  const Count received = placed ? total : counts[s.rank()];
  if (int code = check_reduction(p, sendbuf, recvbuf, received, type, op)) return code;
  if (!placed) {
    if (int code = check_block(p, "send", sendbuf, total, type)) return code;
  }
  s.keep(type);
  s.keep(op);
  const Reduction r{&op, &type, total};
  if (inter) list_inter_reduce_scatter(s, r, sendbuf, recvbuf, counts);
  else list_reduce_scatter(s, r, placed ? recvbuf : sendbuf, recvbuf, counts);
  return success;
}

int make_from_array(Process& p, Schedule& s, const void* sendbuf, void* recvbuf, const CountArray& recvcounts,
                    Datatype& type, Op& op) {
  if (!recvcounts) return p.explain(err_arg, "the array of counts is a null pointer");
  auto* counts = s.array<Count>(s.size());
  for (int i = 0; i < s.size(); ++i) counts[i] = recvcounts[static_cast<std::size_t>(i)];
  return make_reduce_scatter(p, s, sendbuf, recvbuf, counts, type, op);
}

int make_from_block(Process& p, Schedule& s, const void* sendbuf, void* recvbuf, Count recvcount, Datatype& type, Op& op) {
  auto* counts = s.array<Count>(s.size());
  for (int i = 0; i < s.size(); ++i) counts[i] = recvcount;
  return make_reduce_scatter(p, s, sendbuf, recvbuf, counts, type, op);
}

}  // namespace

void list_reduce_scatter(Schedule& s, const Reduction& r, const void* send, void* receive, const Count* counts) {
  if (r.bytes() == 0) return;
  if (s.size() == 1) {
    if (send != receive) s.copy(r.part(send), r.part(receive));
    return;
  }
  auto* first = s.array<Count>(s.size() + 1);
  for (int i = 0; i < s.size(); ++i) first[i + 1] = first[i] + counts[i];
  if (s.defers(*r.op)) return list_gathered_reduce_scatter(s, r, send, receive, first);
  const bool halve = r.op->commutative && s.choose(Collective::reduce_scatter, r.bytes()) == Algorithm::halving;
  if (halve) list_by_halving(s, r, send, receive, first);
  else list_pairwise(s, r, send, receive, first);
}

int reduce_scatter(Process& p, const void* sendbuf, void* recvbuf, CountArray recvcounts, Datatype& type, Op& op,
                   Comm& comm) {
  return run_collective(p, comm, "Reduce_scatter",
                        [&](Schedule& s) { return make_from_array(p, s, sendbuf, recvbuf, recvcounts, type, op); });
}

int ireduce_scatter(Process& p, const void* sendbuf, void* recvbuf, CountArray recvcounts, Datatype& type, Op& op,
                    Comm& comm, Request*& request) {
  return start_collective(p, comm, "Ireduce_scatter", request,
                          [&](Schedule& s) { return make_from_array(p, s, sendbuf, recvbuf, recvcounts, type, op); });
}

int reduce_scatter_init(Process& p, const void* sendbuf, void* recvbuf, CountArray recvcounts, Datatype& type, Op& op,
                        Comm& comm, Info*, Request*& request) {
  return init_collective(p, comm, "Reduce_scatter_init", request,
                          [&](Schedule& s) { return make_from_array(p, s, sendbuf, recvbuf, recvcounts, type, op); });
}

int reduce_scatter_block(Process& p, const void* sendbuf, void* recvbuf, Count recvcount, Datatype& type, Op& op,
                         Comm& comm) {
  return run_collective(p, comm, "Reduce_scatter_block",
                        [&](Schedule& s) { return make_from_block(p, s, sendbuf, recvbuf, recvcount, type, op); });
}

int ireduce_scatter_block(Process& p, const void* sendbuf, void* recvbuf, Count recvcount, Datatype& type, Op& op,
                          Comm& comm, Request*& request) {
  return start_collective(p, comm, "Ireduce_scatter_block", request,
                          [&](Schedule& s) { return make_from_block(p, s, sendbuf, recvbuf, recvcount, type, op); });
}

int reduce_scatter_block_init(Process& p, const void* sendbuf, void* recvbuf, Count recvcount, Datatype& type, Op& op,
                              Comm& comm, Info*, Request*& request) {
  return init_collective(p, comm, "Reduce_scatter_block_init", request,
                          [&](Schedule& s) { return make_from_block(p, s, sendbuf, recvbuf, recvcount, type, op); });
}

}  // namespace hf::mpi
