// Scan and exscan. A chain from rank to rank, in pieces, so that all ranks work at once; recursive doubling over neighbouring
// ranges of ranks.
#include <algorithm>
#include <utility>

#include "mpi/api.hpp"
#include "mpi/coll/algorithms.hpp"
#include "mpi/coll/check.hpp"
#include "mpi/coll/gathered.hpp"
#include "mpi/coll/run.hpp"

namespace hf::mpi {
namespace {

// Whether what this rank's range grows by in the round of `bit` is sent on in a later one.
bool range_is_sent_later(int rank, int bit, int size) {
  for (bit *= 2; bit < size; bit *= 2) {
    if ((rank ^ bit) < size) return true;
  }
  return false;
}

// `range`: the result over the ranks of this one's aligned range; a partner's range is below or above it as a whole.
// `own`: whether the own data are part of the result (scan) or not (exscan).
void list_doubling(Schedule& s, const Reduction& r, const void* send, void* receive, bool own) {
  const int size = s.size(), rank = s.rank();
  std::byte* range = s.temporary(r.count, *r.type);
  std::byte* other = s.temporary(r.count, *r.type);
  s.copy(r.part(send), r.part(range));
  if (own && send != receive) s.copy(r.part(send), r.part(receive));
  bool have = own;
  for (int bit = 1; bit < size; bit *= 2) {
    const int partner = rank ^ bit;
    if (partner >= size) continue;
    const bool both_ways = range_is_sent_later(std::min(rank, partner), bit, size), lower = rank < partner;
    Schedule::Step* received = lower && !both_ways ? nullptr : s.recv(partner, r.part(other));
    Schedule::Step* sent = lower || both_ways ? s.send(partner, r.part(range)) : nullptr;
    s.wait(received);
    s.wait(sent);
    if (lower) {
      if (!both_ways) continue;
      s.reduce(*r.op, range, other, r.count, *r.type);
      std::swap(range, other);
      continue;
    }
    if (have) s.reduce(*r.op, other, receive, r.count, *r.type);
    else s.copy(r.part(other), r.part(receive));
    have = true;
    if (range_is_sent_later(rank, bit, size)) s.reduce(*r.op, other, range, r.count, *r.type);
  }
}

void list_chain(Schedule& s, const Reduction& r, const void* send, void* receive, bool own) {
  const int size = s.size(), rank = s.rank();
  const Count piece = r.bytes() <= scan_piece_bytes ? r.count : std::max<Count>(1, static_cast<Count>(scan_piece_bytes) / r.type->size);
  const bool last = rank + 1 == size;
  std::byte* before = rank && (own || !last) ? s.temporary(std::min(piece, r.count), *r.type) : nullptr;
  for (Count from = 0; from < r.count; from += piece) {
    const Count n = std::min(piece, r.count - from);
    std::byte* result = r.at(receive, from);
    if (rank == 0) {
      s.send(1, r.part(send, from, n));
      if (own && send != receive) s.copy(r.part(send, from, n), r.part(receive, from, n));
      continue;
    }
    if (!own && last) {
      s.recv(rank - 1, r.part(receive, from, n));
      continue;
    }
    s.wait(s.recv(rank - 1, r.part(before, 0, n)));
    if (own) {
      if (send != receive) s.copy(r.part(send, from, n), r.part(receive, from, n));
      s.reduce(*r.op, before, result, n, *r.type);
      if (!last) s.send(rank + 1, r.part(receive, from, n));
      continue;
    }
    std::byte* sum = s.temporary(n, *r.type);  // what comes after this rank includes its own data, the result here does not
    s.copy(r.part(send, from, n), r.part(sum, 0, n));
    s.reduce(*r.op, before, sum, n, *r.type);
    s.send(rank + 1, r.part(sum, 0, n));
    s.copy(r.part(before, 0, n), r.part(receive, from, n));
  }
}

void list_prefix(Schedule& s, const Reduction& r, const void* send, void* receive, bool own) {
  if (r.bytes() == 0) return;
  if (s.size() == 1) {
    if (own && send != receive) s.copy(r.part(send), r.part(receive));
    return;
  }
  if (s.defers(*r.op)) return list_gathered_prefix(s, r, send, receive, own);
  if (s.choose(Collective::scan, r.bytes()) == Algorithm::doubling) list_doubling(s, r, send, receive, own);
  else list_chain(s, r, send, receive, own);
}

int make_prefix(Process& p, Schedule& s, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, bool own) {
  if (s.comm().is_inter()) return p.explain(err_comm, "a scan of an intercommunicator, which MPI does not have");
  // Rank 0 receives nothing from an exscan, and may pass any receive buffer.
  const bool unused = !own && s.rank() == 0 && sendbuf != in_place;
  if (int code = check_reduction(p, sendbuf, unused ? sendbuf : recvbuf, count, type, op)) return code;
  s.keep(type);
  s.keep(op);
  list_prefix(s, {&op, &type, count}, sendbuf == in_place ? recvbuf : sendbuf, recvbuf, own);
  return success;
}

}  // namespace

void list_scan(Schedule& s, const Reduction& r, const void* send, void* receive) { list_prefix(s, r, send, receive, true); }
void list_exscan(Schedule& s, const Reduction& r, const void* send, void* receive) { list_prefix(s, r, send, receive, false); }

int scan(Process& p, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, Comm& comm) {
  return run_collective(p, comm, "Scan",
                        [&](Schedule& s) { return make_prefix(p, s, sendbuf, recvbuf, count, type, op, true); });
}

int iscan(Process& p, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, Comm& comm,
          Request*& request) {
  return start_collective(p, comm, "Iscan", request,
                          [&](Schedule& s) { return make_prefix(p, s, sendbuf, recvbuf, count, type, op, true); });
}

int scan_init(Process& p, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, Comm& comm, Info*,
              Request*& request) {
  return init_collective(p, comm, "Scan_init", request,
                          [&](Schedule& s) { return make_prefix(p, s, sendbuf, recvbuf, count, type, op, true); });
}

int exscan(Process& p, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, Comm& comm) {
  return run_collective(p, comm, "Exscan",
                        [&](Schedule& s) { return make_prefix(p, s, sendbuf, recvbuf, count, type, op, false); });
}

int iexscan(Process& p, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, Comm& comm,
            Request*& request) {
  return start_collective(p, comm, "Iexscan", request,
                          [&](Schedule& s) { return make_prefix(p, s, sendbuf, recvbuf, count, type, op, false); });
}

int exscan_init(Process& p, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op, Comm& comm, Info*,
                Request*& request) {
  return init_collective(p, comm, "Exscan_init", request,
                          [&](Schedule& s) { return make_prefix(p, s, sendbuf, recvbuf, count, type, op, false); });
}

}  // namespace hf::mpi
