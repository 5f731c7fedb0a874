// Scatter: gather turned round. Blocks go down a binomial tree, or (linear, and scatterv) straight from the root.
#include <algorithm>

#include "mpi/api.hpp"
#include "mpi/coll/algorithms.hpp"
#include "mpi/coll/check.hpp"
#include "mpi/coll/inter.hpp"
#include "mpi/coll/run.hpp"

namespace hf::mpi {
namespace {

// The blocks of relative ranks [first, first + n), from the root to a child.
void send_from_root(Schedule& s, const Part& blocks, std::size_t block, int root, int first, int n) {
  const int size = s.size(), to = (root + first) % size;
  const std::size_t bytes = static_cast<std::size_t>(n) * block;
  if (to + n <= size) {
    s.send(to, blocks.slice(static_cast<std::size_t>(to) * block, bytes));
    return;
  }
  std::byte* both = s.temporary(bytes);  // they go past the last rank
  const std::size_t upper = static_cast<std::size_t>(size - to) * block;
  s.copy(blocks.slice(static_cast<std::size_t>(to) * block, upper), Part::raw(both, upper));
  s.copy(blocks.slice(0, bytes - upper), Part::raw(both + upper, bytes - upper));
  s.send(to, Part::raw(both, bytes));
}

void list_binomial(Schedule& s, const Part* blocks, const Part* own, std::size_t block, int root) {
  const int size = s.size(), relative = (s.rank() - root + size) % size;
  int low = 1;
  while (low < size && !(relative & low)) low *= 2;
  if (relative == 0) {
    for (int bit = low / 2; bit > 0; bit /= 2) send_from_root(s, *blocks, block, root, bit, std::min(bit, size - bit));
    if (own) s.copy(blocks->slice(static_cast<std::size_t>(root) * block, block), *own);
    return;
  }
  const int mine = std::min(low, size - relative);  // ranks of this subtree
  const int parent = (relative - low + root) % size;
  if (mine == 1) {
    s.recv(parent, *own);
    return;
  }
  const std::size_t bytes = static_cast<std::size_t>(mine) * block;
  std::byte* all = s.temporary(bytes);
  s.wait(s.recv(parent, Part::raw(all, bytes)));
  for (int bit = low / 2; bit > 0; bit /= 2) {
    if (bit >= mine) continue;
    const std::size_t length = static_cast<std::size_t>(std::min(bit, mine - bit)) * block;
    s.send((relative + bit + root) % size, Part::raw(all + static_cast<std::size_t>(bit) * block, length));
  }
  s.copy(Part::raw(all, block), *own);
}

// `place(i)`: where the block of rank i is at the root.
template <class Place>
void list_linear(Schedule& s, const Part* own, int root, Place&& place) {
  if (s.rank() != root) {
    if (own->bytes) s.recv(root, *own);
    return;
  }
  for (int i = 0; i < s.size(); ++i) {
    if (i == root) continue;
    const Part block = place(i);
    if (block.bytes) s.send(i, block);
  }
  if (own) s.copy(place(root), *own);
}

int check_receiver(Process& p, const Comm& comm, const void* buffer, Count count, const Datatype& type, int root) {
  if (buffer == in_place && comm.rank() == root) return success;
  return check_block(p, "receive", buffer, count, type);
}

int make_scatter(Process& p, Schedule& s, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                 Count recvcount, Datatype& recvtype, int root, Comm& comm) {
  if (comm.is_inter()) {
    return make_inter_scatter(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root);
  }
  if (int code = check_root(p, root, comm)) return code;
  if (int code = check_receiver(p, comm, recvbuf, recvcount, recvtype, root)) return code;
  const bool at_root = comm.rank() == root, placed = recvbuf == in_place;
  if (at_root) {
    if (int code = check_in_place(p, "send", sendbuf)) return code;
    if (int code = check_blocks(p, "send", sendbuf, sendcount, sendtype, comm.size())) return code;
    s.keep(sendtype);
  }
  Part own, blocks;
  if (!placed) {
    s.keep(recvtype);
    own = Part::of(recvbuf, recvcount, recvtype);
  }
  if (at_root) blocks = Part::of(sendbuf, sendcount * comm.size(), sendtype);
  const std::size_t block = at_root ? static_cast<std::size_t>(sendcount * sendtype.size) : own.bytes;
  list_scatter(s, at_root ? &blocks : nullptr, placed ? nullptr : &own, block, root);
  return success;
}

int make_scatterv(Process& p, Schedule& s, const void* sendbuf, CountArray sendcounts, CountArray displs,
                  Datatype& sendtype, void* recvbuf, Count recvcount, Datatype& recvtype, int root, Comm& comm) {
  if (comm.is_inter()) {
    return make_inter_scatterv(p, s, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root);
  }
  if (int code = check_root(p, root, comm)) return code;
  if (int code = check_receiver(p, comm, recvbuf, recvcount, recvtype, root)) return code;
  const bool at_root = comm.rank() == root, placed = recvbuf == in_place;
  Part* blocks = nullptr;
  if (at_root) {
    if (int code = check_in_place(p, "send", sendbuf)) return code;
    if (int code = check_vector(p, "send", sendbuf, sendcounts, displs, sendtype, comm.size())) return code;
    s.keep(sendtype);
    blocks = s.array<Part>(comm.size());
    for (int i = 0; i < comm.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      blocks[i] = Part::of(static_cast<const std::byte*>(sendbuf) + displs[at] * sendtype.extent, sendcounts[at], sendtype);
    }
  }
  Part own;
  if (!placed) {
    s.keep(recvtype);
    own = Part::of(recvbuf, recvcount, recvtype);
  }
  list_scatter_linear(s, blocks, placed ? nullptr : &own, root);
  return success;
}

}  // namespace

void list_scatter(Schedule& s, const Part* blocks, const Part* own, std::size_t block_bytes, int root) {
  if (block_bytes == 0) return;
  if (s.choose(Collective::scatter, block_bytes) == Algorithm::binomial) return list_binomial(s, blocks, own, block_bytes, root);
  list_linear(s, own, root, [&](int i) { return blocks->slice(static_cast<std::size_t>(i) * block_bytes, block_bytes); });
}

void list_scatter_linear(Schedule& s, const Part* blocks, const Part* own, int root) {
  list_linear(s, own, root, [&](int i) { return blocks[i]; });
}

int scatter(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
            Datatype& recvtype, int root, Comm& comm) {
  return run_collective(p, comm, "Scatter", [&](Schedule& s) {
    return make_scatter(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
  });
}

int iscatter(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
             Datatype& recvtype, int root, Comm& comm, Request*& request) {
  return start_collective(p, comm, "Iscatter", request, [&](Schedule& s) {
    return make_scatter(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
  });
}

int scatter_init(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
                 Datatype& recvtype, int root, Comm& comm, Info*, Request*& request) {
  return init_collective(p, comm, "Scatter_init", request, [&](Schedule& s) {
    return make_scatter(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
  });
}

int scatterv(Process& p, const void* sendbuf, CountArray sendcounts, CountArray displs, Datatype& sendtype, void* recvbuf,
             Count recvcount, Datatype& recvtype, int root, Comm& comm) {
  return run_collective(p, comm, "Scatterv", [&](Schedule& s) {
    return make_scatterv(p, s, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm);
  });
}

int iscatterv(Process& p, const void* sendbuf, CountArray sendcounts, CountArray displs, Datatype& sendtype, void* recvbuf,
              Count recvcount, Datatype& recvtype, int root, Comm& comm, Request*& request) {
  return start_collective(p, comm, "Iscatterv", request, [&](Schedule& s) {
    return make_scatterv(p, s, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm);
  });
}

int scatterv_init(Process& p, const void* sendbuf, CountArray sendcounts, CountArray displs, Datatype& sendtype,
                  void* recvbuf, Count recvcount, Datatype& recvtype, int root, Comm& comm, Info*, Request*& request) {
  return init_collective(p, comm, "Scatterv_init", request, [&](Schedule& s) {
    return make_scatterv(p, s, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm);
  });
}

}  // namespace hf::mpi
