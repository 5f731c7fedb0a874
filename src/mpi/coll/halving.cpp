// Recursive halving: half of the elements is exchanged with a rank half of the ranks away, then a quarter, and so on, each
// side keeping the sum of what it keeps. For commutative operations.
#include "mpi/coll/algorithms.hpp"

namespace hf::mpi {

Halving plan_halving(Schedule& s, int keep) {
  Halving h;
  const int size = s.size(), rank = s.rank();
  while (h.ranks * 2 <= size) h.ranks *= 2;
  h.extra = size - h.ranks;
  h.keep = keep;
  if (rank >= 2 * h.extra) h.self = rank - h.extra;
  else if (h.rank_of(rank / 2) == rank) h.self = rank / 2;
  return h;
}

void divide_evenly(Schedule& s, Halving& h, Count count) {
  auto* first = s.array<Count>(h.ranks + 1);
  for (int i = 0; i <= h.ranks; ++i) {
    const Count whole = count / h.ranks, rest = count % h.ranks;
    first[i] = whole * i + (i < rest ? i : rest);
  }
  h.first = first;
}

// Where `send` is not `data`, what is to be added to the own contribution is received into its place: nothing is copied.
void list_halving(Schedule& s, const Reduction& r, const Halving& h, const void* send, std::byte* data) {
  const int pair = h.pair_of(s.rank());
  if (h.self < 0) {
    s.wait(s.send(pair, r.part(send)));
    return;
  }
  const void* mine = send;
  if (pair >= 0) {
    std::byte* theirs = send == data ? s.temporary(r.count, *r.type) : data;
    s.wait(s.recv(pair, r.part(theirs)));
    if (send == data) s.reduce(*r.op, theirs, data, r.count, *r.type);
    else s.reduce(*r.op, send, data, r.count, *r.type);
    mine = data;
  }
  std::byte* other = nullptr;
  int low = 0, high = h.ranks;  // the blocks that this rank still keeps
  for (int half = h.ranks / 2; half > 0; half /= 2) {
    const int middle = low + half, partner = h.rank_of(h.self ^ half);
    const bool lower = h.self < middle;
    const Count from = h.first[lower ? low : middle], n = h.first[lower ? middle : high] - from;
    const Count away = h.first[lower ? middle : low], away_n = h.first[lower ? high : middle] - away;
    const bool in_place = mine == data;
    if (in_place && n && !other) other = s.temporary(n, *r.type);  // the largest range comes first
    Schedule::Step *received = nullptr, *sent = nullptr;
    if (n) received = s.recv(partner, in_place ? r.part(other, 0, n) : r.part(data, from, n));
    if (away_n) sent = s.send(partner, r.part(mine, away, away_n));
    s.wait(received);
    s.reduce(*r.op, in_place ? other : r.at(mine, from), r.at(data, from), n, *r.type);
    s.wait(sent);  // the caller may put its result over `send`
    mine = data;
    (lower ? high : low) = middle;
  }
}

}  // namespace hf::mpi
