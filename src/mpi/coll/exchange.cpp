// All-to-all exchanges. Uniform blocks: Bruck's algorithm, log2(ranks) rounds of half of the blocks each. Pairwise: in step i with
// the ranks i further and i before, a bounded number of steps at once.
#include <cstring>

#include "mpi/coll/algorithms.hpp"

namespace hf::mpi {
namespace {

// Moves the blocks whose distance has a bit set between the buffer of all blocks and one of those to send or received.
struct Selection {
  std::byte* all;
  std::byte* chosen;
  std::size_t block;
  int size, bit;
};

template <bool gather>
void move_chosen(Schedule&, Selection& what) {
  std::byte* at = what.chosen;
  for (int i = what.bit; i < what.size; ++i) {
    if (!(i & what.bit)) continue;
    std::byte* block = what.all + static_cast<std::size_t>(i) * what.block;
    std::memcpy(gather ? at : block, gather ? block : at, what.block);
    at += what.block;
  }
}

void list_bruck(Schedule& s, const Part* out, const Part* in, std::size_t block) {
  const int size = s.size(), rank = s.rank();
  const std::size_t all_bytes = static_cast<std::size_t>(size) * block;
  std::byte* all = s.temporary(all_bytes);  // block i: to (later from) a rank at distance i
  std::byte* outgoing = s.temporary(all_bytes);
  std::byte* incoming = s.temporary(all_bytes);
  auto part = [&](int i) { return Part::raw(all + static_cast<std::size_t>(i) * block, block); };
  for (int i = 0; i < size; ++i) s.copy(out[(rank + i) % size], part(i));
  for (int bit = 1; bit < size; bit *= 2) {
    std::size_t bytes = 0;
    for (int i = bit; i < size; ++i) bytes += i & bit ? block : 0;
    s.call<move_chosen<true>>(Selection{all, outgoing, block, size, bit});
    Schedule::Step* received = s.recv((rank - bit + size) % size, Part::raw(incoming, bytes));
    Schedule::Step* sent = s.send((rank + bit) % size, Part::raw(outgoing, bytes));
    s.wait(received);
    s.call<move_chosen<false>>(Selection{all, incoming, block, size, bit});
    s.wait(sent);
  }
  for (int i = 0; i < size; ++i) s.copy(part(i), in[(rank - i + size) % size]);
}

}  // namespace

void list_alltoall(Schedule& s, const Part* out, const Part* in, std::size_t block_bytes) {
  if (block_bytes == 0) return;
  if (s.choose(Collective::alltoall, block_bytes) == Algorithm::bruck) list_bruck(s, out, in, block_bytes);
  else list_exchange(s, out, in);
}

void list_exchange(Schedule& s, const Part* out, const Part* in) {
  const int size = s.size(), rank = s.rank();
  const bool in_windows = size > exchange_window + 1;
  auto** sent = in_windows ? s.array<Schedule::Step*>(size) : nullptr;
  auto** received = in_windows ? s.array<Schedule::Step*>(size) : nullptr;
  for (int i = 1; i < size; ++i) {
    if (i > exchange_window) {
      s.wait(received[i - exchange_window]);
      s.wait(sent[i - exchange_window]);
    }
    const int to = (rank + i) % size, from = (rank - i + size) % size;
    Schedule::Step* in_step = in[from].bytes ? s.recv(from, in[from]) : nullptr;
    Schedule::Step* out_step = out[to].bytes ? s.send(to, out[to]) : nullptr;
    if (!in_windows) continue;
    received[i] = in_step;
    sent[i] = out_step;
  }
  s.copy(out[rank], in[rank]);
}

}  // namespace hf::mpi
