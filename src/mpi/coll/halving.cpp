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

void list_halving(Schedule& s, const Reduction& r, const Halving& h, std::byte* data, std::byte* other) {
  const int pair = h.pair_of(s.rank());
  if (h.self < 0) {
    s.wait(s.send(pair, r.part(data)));
    return;
  }
  if (pair >= 0) {
    s.wait(s.recv(pair, r.part(other)));
    s.reduce(*r.op, other, data, r.count, *r.type);
  }
  int low = 0, high = h.ranks;  // the blocks that this rank still keeps
  for (int half = h.ranks / 2; half > 0; half /= 2) {
    const int middle = low + half, partner = h.rank_of(h.self ^ half);
    const bool lower = h.self < middle;
    const Count from = h.first[lower ? low : middle], n = h.first[lower ? middle : high] - from;
    const Count away = h.first[lower ? middle : low], away_n = h.first[lower ? high : middle] - away;
    Schedule::Step *received = nullptr, *sent = nullptr;
    if (n) received = s.recv(partner, r.part(other, from, n));
    if (away_n) sent = s.send(partner, r.part(data, away, away_n));
    s.wait(received);
    s.reduce(*r.op, r.at(other, from), r.at(data, from), n, *r.type);
    s.wait(sent);
    (lower ? high : low) = middle;
  }
}

}  // namespace hf::mpi
