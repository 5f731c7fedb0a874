// Allreduce. Recursive doubling over neighbouring ranges of ranks, the lower range always on the left, so that all ranks compute
// the same bits. For commutative operations: recursive halving, then the blocks are exchanged by the same pairs in reverse
// (Rabenseifner). Linear: each sends its own to all others, in one round, and all reduce all of them from the right.
#include <utility>

#include "mpi/api.hpp"
#include "mpi/coll/algorithms.hpp"
#include "mpi/coll/check.hpp"
#include "mpi/coll/gathered.hpp"
#include "mpi/coll/inter.hpp"
#include "mpi/coll/run.hpp"

namespace hf::mpi {
namespace {

void list_doubling(Schedule& s, const Reduction& r, const void* send, void* receive) {
  const Halving h = plan_halving(s, -1);
  const int pair = h.pair_of(s.rank());
  if (h.self < 0) {
    s.wait(s.send(pair, r.part(send)));
    s.wait(s.recv(pair, r.part(receive)));
    return;
  }
  // `other` receives what is to be added: by the left one to it, so that the two change places and the input need not be copied, by
  // the right one to `sum`.
  void* sum = const_cast<void*>(send);
  void* other = nullptr;
  auto is_input = [&] { return sum == send && send != receive; };
  auto copy_input = [&] {
    if (!is_input()) return;
    s.copy(r.part(send), r.part(receive));
    sum = receive;
  };
  if (pair >= 0) {  // the pair's lower rank gave its data: those of the other are on the right
    other = s.temporary(r.count, *r.type);
    s.wait(s.recv(pair, r.part(other)));
    copy_input();
    s.reduce(*r.op, other, sum, r.count, *r.type);
  }
  for (int bit = 1; bit < h.ranks; bit *= 2) {
    const int partner = h.rank_of(h.self ^ bit);
    const bool right = h.self & bit, input = is_input();
    if (!other) other = input && !right ? receive : s.temporary(r.count, *r.type);
    Schedule::Step* received = s.recv(partner, r.part(other));
    Schedule::Step* sent = s.send(partner, r.part(sum));
    if (right) copy_input();
    s.wait(received);
    s.wait(sent);
    if (right) {
      s.reduce(*r.op, other, sum, r.count, *r.type);
    } else {
      s.reduce(*r.op, sum, other, r.count, *r.type);
      std::swap(sum, other);
      if (input) other = nullptr;
    }
  }
  if (pair >= 0) s.send(pair, r.part(sum));
  if (sum != receive) s.copy(r.part(sum), r.part(receive));
}

void list_rabenseifner(Schedule& s, const Reduction& r, const void* send, void* receive) {
  Halving h = plan_halving(s, -1);
  divide_evenly(s, h, r.count);
  auto* data = static_cast<std::byte*>(receive);
  list_halving(s, r, h, send, data);
  const int pair = h.pair_of(s.rank());
  if (h.self < 0) {
    s.wait(s.recv(pair, r.part(data)));
    return;
  }
  for (int bit = 1; bit < h.ranks; bit *= 2) {
    const int partner = h.rank_of(h.self ^ bit);
    const int mine = h.self & ~(bit - 1), theirs = (h.self ^ bit) & ~(bit - 1);
    const Count in = h.first[theirs], in_n = h.first[theirs + bit] - in;
    const Count out = h.first[mine], out_n = h.first[mine + bit] - out;
    Schedule::Step* received = in_n ? s.recv(partner, r.part(data, in, in_n)) : nullptr;
    if (out_n) s.send(partner, r.part(data, out, out_n));
    s.wait(received);
  }
  if (pair >= 0) s.send(pair, r.part(data));
}

void list_linear(Schedule& s, const Reduction& r, const void* send, void* receive) {
  const int size = s.size(), rank = s.rank(), last = size - 1;
  for (int i = 1; i < size; ++i) s.send((rank + i) % size, r.part(send));
  auto** inputs = s.array<const void*>(size);
  inputs[rank] = send;
  for (int i = 1; i < size; ++i) {
    const int from = (rank + i) % size;
    void* to = from == last && send != receive ? receive : s.temporary(r.count, *r.type);
    inputs[from] = to;
    s.recv(from, r.part(to));
  }
  s.settle();
  // The sum grows from the right, where the last input is or a copy of the own one.
  void* sum = rank != last ? const_cast<void*>(inputs[last]) : receive;
  if (rank == last && send != receive) s.copy(r.part(send), r.part(sum));
  for (int i = last - 1; i >= 0; --i) s.reduce(*r.op, inputs[i], sum, r.count, *r.type);
  if (sum != receive) s.copy(r.part(sum), r.part(receive));
}

int make_allreduce(Process& p, Schedule& s, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op) {
  const bool inter = s.comm().is_inter();
  if (inter) {
    if (int code = check_in_place(p, "send", sendbuf)) return code;
  }
  if (int code = check_reduction(p, sendbuf, recvbuf, count, type, op)) return code;
  s.keep(type);
  s.keep(op);
  const Reduction r{&op, &type, count};
  if (inter) list_inter_allreduce(s, r, sendbuf, recvbuf);
  else list_allreduce(s, r, sendbuf == in_place ? recvbuf : sendbuf, recvbuf);
  return success;
}

}  // namespace

void list_allreduce(Schedule& s, const Reduction& r, const void* send, void* receive) {
  if (r.bytes() == 0) return;
  if (s.size() == 1) {
    if (send != receive) s.copy(r.part(send), r.part(receive));
    return;
  }
  if (s.defers(*r.op)) return list_gathered_allreduce(s, r, send, receive);
  const bool suits_rabenseifner = r.op->commutative && r.count >= s.size();
  const Algorithm algorithm = s.choose(Collective::allreduce, r.bytes());
  if (algorithm == Algorithm::linear) list_linear(s, r, send, receive);
  else if (algorithm == Algorithm::rabenseifner && suits_rabenseifner) list_rabenseifner(s, r, send, receive);
  else list_doubling(s, r, send, receive);
}

int allreduce(Process& p, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, Comm& comm) {
  return run_collective(p, comm, "Allreduce",
                        [&](Schedule& s) { return make_allreduce(p, s, sendbuf, recvbuf, count, type, op); });
}

int iallreduce(Process& p, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, Comm& comm,
               Request*& request) {
  return start_collective(p, comm, "Iallreduce", request,
                          [&](Schedule& s) { return make_allreduce(p, s, sendbuf, recvbuf, count, type, op); });
}

int allreduce_init(Process& p, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, Comm& comm,
                   Info*, Request*& request) {
  return init_collective(p, comm, "Allreduce_init", request,
                          [&](Schedule& s) { return make_allreduce(p, s, sendbuf, recvbuf, count, type, op); });
}

}  // namespace hf::mpi
