// Reduce. A binomial tree over neighbouring ranges of ranks. For commutative operations: recursive halving, then the blocks are
// gathered at the root by the same pairs in reverse (Rabenseifner).
#include <utility>

#include "mpi/api.hpp"
#include "mpi/coll/algorithms.hpp"
#include "mpi/coll/check.hpp"
#include "mpi/coll/gathered.hpp"
#include "mpi/coll/inter.hpp"
#include "mpi/coll/run.hpp"

namespace hf::mpi {
namespace {

// A commutative operation's tree starts at the root; another's at rank 0, which then sends the result to the root.
void list_binomial(Schedule& s, const Reduction& r, const void* send, void* receive, int root) {
  const int size = s.size(), top = r.op->commutative ? root : 0, relative = (s.rank() - top + size) % size;
  auto rank_of = [&](int other) { return (other + top) % size; };
  int children = 0;
  for (int bit = 1; bit < size && !(relative & bit); bit *= 2) children += relative + bit < size;
  const bool result_here = relative == 0 && s.rank() == root;
  // Results alternate between two buffers, so that the input need not be copied: the last one in the receive buffer.
  void *into = nullptr, *spare = nullptr;
  if (children == 1 && result_here && send != receive) {
    into = receive;
  } else if (children) {
    into = s.temporary(r.count, *r.type);
    if (children > 1) spare = result_here ? receive : s.temporary(r.count, *r.type);
    if (result_here && send != receive && children % 2 == 1) std::swap(into, spare);
  }
  const void* sum = send;
  for (int bit = 1; bit < size && !(relative & bit); bit *= 2) {
    if (relative + bit >= size) continue;
    s.wait(s.recv(rank_of(relative + bit), r.part(into)));
    s.reduce(*r.op, sum, into, r.count, *r.type);
    sum = into;
    std::swap(into, spare);
  }
  if (relative) {
    const int low = relative & -relative;
    s.wait(s.send(rank_of(relative - low), r.part(sum)));
  } else if (s.rank() != root) {
    s.send(root, r.part(sum));
  }
  if (s.rank() != root) return;
  if (relative) s.recv(0, r.part(receive));
  else if (sum != receive) s.copy(r.part(sum), r.part(receive));
}

void list_rabenseifner(Schedule& s, const Reduction& r, const void* send, void* receive, int root) {
  Halving h = plan_halving(s, root);
  divide_evenly(s, h, r.count);
  const bool at_root = s.rank() == root;
  auto* data = at_root ? static_cast<std::byte*>(receive) : s.temporary(r.count, *r.type);
  list_halving(s, r, h, send, data);
  if (h.self < 0) return;
  const int root_self = root >= 2 * h.extra ? root - h.extra : root / 2;
  for (int bit = 1; bit < h.ranks; bit *= 2) {
    const int partner = h.self ^ bit;
    const bool gets = (h.self & bit) == (root_self & bit);
    const int theirs = partner & ~(bit - 1), mine = h.self & ~(bit - 1);
    const Count from = h.first[gets ? theirs : mine], n = h.first[(gets ? theirs : mine) + bit] - from;
    if (gets && n) s.wait(s.recv(h.rank_of(partner), r.part(data, from, n)));
    if (!gets && n) s.send(h.rank_of(partner), r.part(data, from, n));
    if (!gets) return;
  }
}

int make_reduce(Process& p, Schedule& s, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, int root,
                Comm& comm) {
  if (comm.is_inter()) return make_inter_reduce(p, s, sendbuf, recvbuf, count, type, op, root);
  if (int code = check_root(p, root, comm)) return code;
  const bool at_root = comm.rank() == root;
  if (!at_root) {
    if (int code = check_in_place(p, "send", sendbuf)) return code;
  }
  if (int code = check_reduction(p, sendbuf, at_root ? recvbuf : sendbuf, count, type, op)) return code;
  s.keep(type);
  s.keep(op);
  list_reduce(s, {&op, &type, count}, sendbuf == in_place ? recvbuf : sendbuf, recvbuf, root);
  return success;
}

}  // namespace

void list_reduce(Schedule& s, const Reduction& r, const void* send, void* receive, int root) {
  if (r.bytes() == 0) return;
  if (s.size() == 1) {
    if (send != receive) s.copy(r.part(send), r.part(receive));
    return;
  }
  if (s.defers(*r.op)) return list_gathered_reduce(s, r, send, receive, root);
  const bool suits = r.op->commutative && r.count >= s.size();
  if (suits && s.choose(Collective::reduce, r.bytes()) == Algorithm::rabenseifner) list_rabenseifner(s, r, send, receive, root);
  else list_binomial(s, r, send, receive, root);
}

int reduce(Process& p, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, int root, Comm& comm) {
  return run_collective(p, comm, "Reduce", [&](Schedule& s) {
    return make_reduce(p, s, sendbuf, recvbuf, count, type, op, root, comm);
  });
}

int ireduce(Process& p, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, int root, Comm& comm,
            Request*& request) {
  return start_collective(p, comm, "Ireduce", request, [&](Schedule& s) {
    return make_reduce(p, s, sendbuf, recvbuf, count, type, op, root, comm);
  });
}

int reduce_init(Process& p, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, int root,
                Comm& comm, Info*, Request*& request) {
  return init_collective(p, comm, "Reduce_init", request, [&](Schedule& s) {
    return make_reduce(p, s, sendbuf, recvbuf, count, type, op, root, comm);
  });
}

}  // namespace hf::mpi
