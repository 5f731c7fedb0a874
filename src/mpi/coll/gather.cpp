// Gather. Binomial: up a tree, where inner ranks collect the blocks of their subtree. Linear, and gatherv, whose counts only the
// root knows: each rank to the root, straight into place.
#include <algorithm>

#include "mpi/api.hpp"
#include "mpi/coll/algorithms.hpp"
#include "mpi/coll/check.hpp"
#include "mpi/coll/inter.hpp"
#include "mpi/coll/run.hpp"

namespace hf::mpi {
namespace {

// The blocks of relative ranks [first, first + n), received from a child, to where they belong at the root.
void receive_at_root(Schedule& s, const Part& blocks, std::size_t block, int root, int first, int n) {
  const int size = s.size(), from = (root + first) % size;
  const std::size_t bytes = static_cast<std::size_t>(n) * block;
  if (from + n <= size) {
    s.recv(from, blocks.slice(static_cast<std::size_t>(from) * block, bytes));
    return;
  }
  std::byte* both = s.temporary(bytes);  // they go past the last rank
  const std::size_t upper = static_cast<std::size_t>(size - from) * block;
  s.wait(s.recv(from, Part::raw(both, bytes)));
  s.copy(Part::raw(both, upper), blocks.slice(static_cast<std::size_t>(from) * block, upper));
  s.copy(Part::raw(both + upper, bytes - upper), blocks.slice(0, bytes - upper));
}

void list_binomial(Schedule& s, const Part* own, const Part* blocks, std::size_t block, int root) {
  const int size = s.size(), relative = (s.rank() - root + size) % size;
  if (relative == 0) {
    if (own) s.copy(*own, blocks->slice(static_cast<std::size_t>(root) * block, block));
    for (int bit = 1; bit < size; bit *= 2) receive_at_root(s, *blocks, block, root, bit, std::min(bit, size - bit));
    return;
  }
  int low = 1;
  while (!(relative & low)) low *= 2;
  const int mine = std::min(low, size - relative);  // ranks of this subtree
  const int parent = (relative - low + root) % size;
  if (mine == 1) {
    s.send(parent, *own);
    return;
  }
  const std::size_t bytes = static_cast<std::size_t>(mine) * block;
  std::byte* all = s.temporary(bytes);
  s.copy(*own, Part::raw(all, block));
  Schedule::Step* children[32];
  int n = 0;
  for (int bit = 1; bit < mine; bit *= 2) {
    const std::size_t length = static_cast<std::size_t>(std::min(bit, mine - bit)) * block;
    children[n++] = s.recv((relative + bit + root) % size, Part::raw(all + static_cast<std::size_t>(bit) * block, length));
  }
  for (int i = 0; i < n; ++i) s.wait(children[i]);
  s.send(parent, Part::raw(all, bytes));
}

// `place(i)`: where the block of rank i belongs at the root.
template <class Place>
void list_linear(Schedule& s, const Part* own, int root, Place&& place) {
  if (s.rank() != root) {
    if (own->bytes) s.send(root, *own);
    return;
  }
  for (int i = 0; i < s.size(); ++i) {
    if (i == root) continue;
    const Part block = place(i);
    if (block.bytes) s.recv(i, block);
  }
  if (own) s.copy(*own, place(root));
}

int check_sender(Process& p, const Comm& comm, const void* buffer, Count count, const Datatype& type, int root) {
  if (buffer == in_place && comm.rank() == root) return success;
  return check_block(p, "send", buffer, count, type);
}

int make_gather(Process& p, Schedule& s, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                Count recvcount, Datatype& recvtype, int root, Comm& comm) {
  if (comm.is_inter()) {
    return make_inter_gather(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root);
  }
  if (int code = check_root(p, root, comm)) return code;
  if (int code = check_sender(p, comm, sendbuf, sendcount, sendtype, root)) return code;
  const bool at_root = comm.rank() == root, placed = sendbuf == in_place;
  if (at_root) {
    if (int code = check_in_place(p, "receive", recvbuf)) return code;
    if (int code = check_blocks(p, "receive", recvbuf, recvcount, recvtype, comm.size())) return code;
    s.keep(recvtype);
  }
  Part own, blocks;
  if (!placed) {
    s.keep(sendtype);
    own = Part::of(sendbuf, sendcount, sendtype);
  }
  if (at_root) blocks = Part::of(recvbuf, recvcount * comm.size(), recvtype);
  const std::size_t block = at_root ? static_cast<std::size_t>(recvcount * recvtype.size) : own.bytes;
  list_gather(s, placed ? nullptr : &own, at_root ? &blocks : nullptr, block, root);
  return success;
}

int make_gatherv(Process& p, Schedule& s, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                 CountArray recvcounts, CountArray displs, Datatype& recvtype, int root, Comm& comm) {
  if (comm.is_inter()) {
    return make_inter_gatherv(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root);
  }
  if (int code = check_root(p, root, comm)) return code;
  if (int code = check_sender(p, comm, sendbuf, sendcount, sendtype, root)) return code;
  const bool at_root = comm.rank() == root, placed = sendbuf == in_place;
  Part* blocks = nullptr;
  if (at_root) {
    if (int code = check_in_place(p, "receive", recvbuf)) return code;
    if (int code = check_vector(p, "receive", recvbuf, recvcounts, displs, recvtype, comm.size())) return code;
    s.keep(recvtype);
    blocks = s.array<Part>(comm.size());
    for (int i = 0; i < comm.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      blocks[i] = Part::of(static_cast<std::byte*>(recvbuf) + displs[at] * recvtype.extent, recvcounts[at], recvtype);
    }
  }
  Part own;
  if (!placed) {
    s.keep(sendtype);
    own = Part::of(sendbuf, sendcount, sendtype);
  }
  list_gather_linear(s, placed ? nullptr : &own, blocks, root);
  return success;
}

}  // namespace

void list_gather(Schedule& s, const Part* own, const Part* blocks, std::size_t block_bytes, int root) {
  if (block_bytes == 0) return;
  if (s.choose(Collective::gather, block_bytes) == Algorithm::binomial) return list_binomial(s, own, blocks, block_bytes, root);
  list_linear(s, own, root, [&](int i) { return blocks->slice(static_cast<std::size_t>(i) * block_bytes, block_bytes); });
}

void list_gather_linear(Schedule& s, const Part* own, const Part* blocks, int root) {
  list_linear(s, own, root, [&](int i) { return blocks[i]; });
}

int gather(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
           Datatype& recvtype, int root, Comm& comm) {
  return run_collective(p, comm, "Gather", [&](Schedule& s) {
    return make_gather(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
  });
}

int igather(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
            Datatype& recvtype, int root, Comm& comm, Request*& request) {
  return start_collective(p, comm, "Igather", request, [&](Schedule& s) {
    return make_gather(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
  });
}

int gather_init(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
                Datatype& recvtype, int root, Comm& comm, Info*, Request*& request) {
  return init_collective(p, comm, "Gather_init", request, [&](Schedule& s) {
    return make_gather(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
  });
}

int gatherv(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, CountArray recvcounts,
            CountArray displs, Datatype& recvtype, int root, Comm& comm) {
  return run_collective(p, comm, "Gatherv", [&](Schedule& s) {
    return make_gatherv(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm);
  });
}

int igatherv(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, CountArray recvcounts,
             CountArray displs, Datatype& recvtype, int root, Comm& comm, Request*& request) {
  return start_collective(p, comm, "Igatherv", request, [&](Schedule& s) {
    return make_gatherv(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm);
  });
}

int gatherv_init(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                 CountArray recvcounts, CountArray displs, Datatype& recvtype, int root, Comm& comm, Info*,
                 Request*& request) {
  return init_collective(p, comm, "Gatherv_init", request, [&](Schedule& s) {
    return make_gatherv(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm);
  });
}

}  // namespace hf::mpi
