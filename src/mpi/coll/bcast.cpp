// A binomial tree; the root to each (linear); or the root scatters ranges of the packed form down the tree, then a ring passes
// them on to all, so that every rank sends and receives each byte about twice instead of log2(ranks) times.
#include <algorithm>

#include "mpi/api.hpp"
#include "mpi/coll/algorithms.hpp"
#include "mpi/coll/check.hpp"
#include "mpi/coll/inter.hpp"
#include "mpi/coll/run.hpp"

namespace hf::mpi {
namespace {

// Ranks relative to the root; the parent of one is itself without its lowest bit.
int lowest_bit(int relative, int size) {
  int bit = 1;
  while (bit < size && !(relative & bit)) bit *= 2;
  return bit;
}

void list_binomial(Schedule& s, const Part& data, int root) {
  const int size = s.size(), relative = (s.rank() - root + size) % size;
  const int low = lowest_bit(relative, size);
  if (relative) s.wait(s.recv((relative - low + root) % size, data));
  for (int bit = low / 2; bit > 0; bit /= 2) {
    if (relative + bit < size) s.send((relative + bit + root) % size, data);
  }
}

void list_linear(Schedule& s, const Part& data, int root) {
  if (s.rank() != root) return s.wait(s.recv(root, data));
  for (int i = 1; i < s.size(); ++i) s.send((root + i) % s.size(), data);
}

void list_scatter_ring(Schedule& s, const Part& data, int root) {
  const int size = s.size(), relative = (s.rank() - root + size) % size;
  const std::size_t piece = (data.bytes + static_cast<std::size_t>(size) - 1) / static_cast<std::size_t>(size);
  auto range = [&](int first, int n) {  // the pieces of n relative ranks
    const std::size_t from = std::min(data.bytes, static_cast<std::size_t>(first) * piece);
    const std::size_t to = std::min(data.bytes, static_cast<std::size_t>(std::min(size, first + n)) * piece);
    return data.slice(from, to - from);
  };
  const int low = lowest_bit(relative, size);
  if (relative) {
    const Part mine = range(relative, low);
    if (mine.bytes) s.wait(s.recv((relative - low + root) % size, mine));
  }
  for (int bit = low / 2; bit > 0; bit /= 2) {
    if (relative + bit >= size) continue;
    const Part theirs = range(relative + bit, bit);
    if (theirs.bytes) s.send((relative + bit + root) % size, theirs);
  }
  // The root has all pieces: its buffer, which the program may read meanwhile and cannot always write, is not written.
  const int right = (s.rank() + 1) % size, left = (s.rank() - 1 + size) % size;
  for (int i = 0; i + 1 < size; ++i) {
    const Part out = range((relative - i + size) % size, 1);
    const Part in = range((relative - i - 1 + size) % size, 1);
    Schedule::Step* step = in.bytes && relative != 0 ? s.recv(left, in) : nullptr;
    if (out.bytes && relative + 1 != size) s.send(right, out);
    s.wait(step);
  }
}

int make_bcast(Process& p, Schedule& s, void* buffer, Count count, Datatype& type, int root, Comm& comm) {
  if (comm.is_inter()) return make_inter_bcast(p, s, buffer, count, type, root);
  if (int code = check_root(p, root, comm)) return code;
  if (int code = check_block(p, "broadcast", buffer, count, type)) return code;
  s.keep(type);
  list_bcast(s, Part::of(buffer, count, type), root);
  return success;
}

}  // namespace

void list_bcast(Schedule& s, const Part& data, int root) {
  if (data.bytes == 0 || s.size() == 1) return;
  switch (s.choose(Collective::bcast, data.bytes)) {
    case Algorithm::linear:
      return list_linear(s, data, root);
    case Algorithm::scatter_ring:
      return list_scatter_ring(s, data, root);
    default:
      return list_binomial(s, data, root);
  }
}

int bcast(Process& p, void* buffer, Count count, Datatype& type, int root, Comm& comm) {
  return run_collective(p, comm, "Bcast", [&](Schedule& s) { return make_bcast(p, s, buffer, count, type, root, comm); });
}

int ibcast(Process& p, void* buffer, Count count, Datatype& type, int root, Comm& comm, Request*& request) {
  return start_collective(p, comm, "Ibcast", request,
                          [&](Schedule& s) { return make_bcast(p, s, buffer, count, type, root, comm); });
}

int bcast_init(Process& p, void* buffer, Count count, Datatype& type, int root, Comm& comm, Info*, Request*& request) {
  return init_collective(p, comm, "Bcast_init", request,
                          [&](Schedule& s) { return make_bcast(p, s, buffer, count, type, root, comm); });
}

}  // namespace hf::mpi
