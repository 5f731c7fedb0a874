// The algorithms of the collectives: each appends its steps to a schedule. Arguments have been checked, MPI_IN_PLACE has
// been resolved into addresses. Which algorithm is taken is a function of the numbers of bytes, ranks and nodes, the protocol and the job's
// table, on which all ranks agree (core/collectives/choice.hpp).
#pragma once
#include "mpi/coll/schedule.hpp"

namespace hf::mpi {

inline constexpr std::size_t scan_piece_bytes = 256 << 10;
inline constexpr int exchange_window = 32;  // messages under way at once in a pairwise exchange

void list_barrier(Schedule& s);
void list_bcast(Schedule& s, const Part& data, int root);

// The root's blocks lie side by side in `blocks` in the order of ranks; null for the others. `own`: this rank's block;
// null: it is in its place (the root's MPI_IN_PLACE).
void list_gather(Schedule& s, const Part* own, const Part* blocks, std::size_t block_bytes, int root);
void list_scatter(Schedule& s, const Part* blocks, const Part* own, std::size_t block_bytes, int root);
// Every block to or from its own place; `blocks` by rank at the root, else null.
void list_gather_linear(Schedule& s, const Part* own, const Part* blocks, int root);
void list_scatter_linear(Schedule& s, const Part* blocks, const Part* own, int root);

// `blocks` by rank, of any lengths, all known to all. `own` is null when it is in its place.
void list_allgather(Schedule& s, const Part* own, const Part* blocks);

// Blocks by rank, one to each and one from each. Uniform: all are of block_bytes on all ranks.
void list_alltoall(Schedule& s, const Part* out, const Part* in, std::size_t block_bytes);
void list_exchange(Schedule& s, const Part* out, const Part* in);

// What is reduced: `count` elements of a type.
struct Reduction {
  const Op* op = nullptr;
  Datatype* type = nullptr;
  Count count = 0;
  std::size_t bytes() const { return static_cast<std::size_t>(count * type->size); }
  Part part(const void* buffer) const { return Part::of(buffer, count, *type); }
  // Elements [from, from + n).
  std::byte* at(const void* buffer, Count from) const {
    return static_cast<std::byte*>(const_cast<void*>(buffer)) + from * type->extent;
  }
  Part part(const void* buffer, Count from, Count n) const { return Part::of(at(buffer, from), n, *type); }
};

// `send` may be the same address as `receive`. Reductions combine neighbouring ranges of ranks in rank order; the long
// forms of commutative operations use an order of their own, the same at each call.
void list_reduce(Schedule& s, const Reduction& r, const void* send, void* receive, int root);
// The result is there when the last of the steps has run, so that others may follow.
void list_allreduce(Schedule& s, const Reduction& r, const void* send, void* receive);
// `counts` by rank; r.count is their sum. `receive` gets this rank's block, and may be the start of `send`.
void list_reduce_scatter(Schedule& s, const Reduction& r, const void* send, void* receive, const Count* counts);
void list_scan(Schedule& s, const Reduction& r, const void* send, void* receive);
void list_exscan(Schedule& s, const Reduction& r, const void* send, void* receive);

// Recursive halving, shared by the long reductions (halving.cpp). The largest power of two of ranks take part; each other
// rank first gives its data to a partner.
struct Halving {
  int ranks = 1;        // that take part, a power of two
  int extra = 0;        // ranks that give theirs to a partner: ranks 0 to 2 * extra - 1 are pairs
  int keep = -1;        // a rank that must take part
  int self = -1;        // this rank among those that take part, or -1
  const Count* first = nullptr;  // [ranks + 1]: first element of each one's block
  int rank_of(int participant) const {
    if (participant >= extra) return participant + extra;
    return 2 * participant == keep ? keep : 2 * participant + 1;
  }
  // The other rank of this one's pair, or -1.
  int pair_of(int rank) const { return rank < 2 * extra ? rank ^ 1 : -1; }
};
Halving plan_halving(Schedule& s, int keep);
// Boundaries of equal blocks.
void divide_evenly(Schedule& s, Halving& h, Count count);
// Steps that leave, in `data`, this rank's block of the result; the other blocks there are of no use. `send`, this rank's
// contribution, may be `data`.
void list_halving(Schedule& s, const Reduction& r, const Halving& h, const void* send, std::byte* data);

}  // namespace hf::mpi
