// Collectives with a root, between the root and the other group. The two are taken as one group for the time of the call, so
// that the algorithms of intracommunicators serve: the root is its last rank, and has nothing to give to itself.
#include <fmt/format.h>

#include "mpi/coll/check.hpp"
#include "mpi/coll/gathered.hpp"
#include "mpi/coll/inter.hpp"

namespace hf::mpi {
namespace {

int check_inter_root(Process& p, int root, const Comm& comm) {
  if (root == mpi::root || root == proc_null || (root >= 0 && root < comm.remote->size())) return success;
  return p.explain(err_root, fmt::format("root {} is not a rank of the remote group, whose ranks are 0 to {}, nor MPI_ROOT or "
                                         "MPI_PROC_NULL",
                                         root, comm.remote->size() - 1));
}

// Steps from here on are among the group without the root and the root. Gives the root's rank there.
int meet_root(Schedule& s, int root) {
  const Comm& comm = s.comm();
  const bool here = root == mpi::root;
  const Group &leaves = here ? *comm.remote : *comm.group, &others = here ? *comm.group : *comm.remote;
  const auto at = static_cast<std::size_t>(here ? comm.rank() : root);
  s.among(leaves.members, std::span(others.members).subspan(at, 1), here ? leaves.size() : comm.rank());
  return leaves.size();
}

// Blocks by rank of the remote group, with no block for the root behind them.
Part* remote_blocks(Schedule& s, const void* buffer, const CountArray& counts, const CountArray& displs, const Datatype& type) {
  const int size = s.comm().remote->size();
  auto* blocks = s.array<Part>(size + 1);
  for (int i = 0; i < size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    blocks[i] = Part::of(static_cast<const std::byte*>(buffer) + displs[at] * type.extent, counts[at], type);
  }
  return blocks;
}

// What one of the other group gives or gets.
int check_own(Process& p, Schedule& s, const char* what, const void* buffer, Count count, Datatype& type, Part& own) {
  if (int code = check_block(p, what, buffer, count, type)) return code;
  s.keep(type);
  own = Part::of(buffer, count, type);
  return success;
}

int check_all(Process& p, Schedule& s, const char* what, const void* buffer, Count count, Datatype& type, Part& all) {
  const int size = s.comm().remote->size();
  if (int code = check_in_place(p, what, buffer)) return code;
  if (int code = check_blocks(p, what, buffer, count, type, size)) return code;
  s.keep(type);
  all = Part::of(buffer, count * size, type);
  return success;
}

int check_each(Process& p, Schedule& s, const char* what, const void* buffer, const CountArray& counts,
               const CountArray& displs, Datatype& type, Part*& blocks) {
  if (int code = check_in_place(p, what, buffer)) return code;
  if (int code = check_vector(p, what, buffer, counts, displs, type, s.comm().remote->size())) return code;
  s.keep(type);
  blocks = remote_blocks(s, buffer, counts, displs, type);
  return success;
}

}  // namespace

int make_inter_bcast(Process& p, Schedule& s, void* buffer, Count count, Datatype& type, int root) {
  if (int code = check_inter_root(p, root, s.comm())) return code;
  if (root == proc_null) return success;
  Part data;
  if (int code = check_own(p, s, "broadcast", buffer, count, type, data)) return code;
  list_bcast(s, data, meet_root(s, root));
  return success;
}

int make_inter_gather(Process& p, Schedule& s, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                      Count recvcount, Datatype& recvtype, int root) {
  if (int code = check_inter_root(p, root, s.comm())) return code;
  if (root == proc_null) return success;
  Part own, all;
  if (root == mpi::root) {
    if (int code = check_all(p, s, "receive", recvbuf, recvcount, recvtype, all)) return code;
    list_gather(s, nullptr, &all, static_cast<std::size_t>(recvcount * recvtype.size), meet_root(s, root));
    return success;
  }
  if (int code = check_own(p, s, "send", sendbuf, sendcount, sendtype, own)) return code;
  list_gather(s, &own, nullptr, own.bytes, meet_root(s, root));
  return success;
}

int make_inter_gatherv(Process& p, Schedule& s, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                       const CountArray& recvcounts, const CountArray& displs, Datatype& recvtype, int root) {
  if (int code = check_inter_root(p, root, s.comm())) return code;
  if (root == proc_null) return success;
  if (root == mpi::root) {
    Part* blocks = nullptr;
    if (int code = check_each(p, s, "receive", recvbuf, recvcounts, displs, recvtype, blocks)) return code;
    list_gather_linear(s, nullptr, blocks, meet_root(s, root));
    return success;
  }
  Part own;
  if (int code = check_own(p, s, "send", sendbuf, sendcount, sendtype, own)) return code;
  list_gather_linear(s, &own, nullptr, meet_root(s, root));
  return success;
}

int make_inter_scatter(Process& p, Schedule& s, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                       Count recvcount, Datatype& recvtype, int root) {
  if (int code = check_inter_root(p, root, s.comm())) return code;
  if (root == proc_null) return success;
  Part own, all;
  if (root == mpi::root) {
    if (int code = check_all(p, s, "send", sendbuf, sendcount, sendtype, all)) return code;
    list_scatter(s, &all, nullptr, static_cast<std::size_t>(sendcount * sendtype.size), meet_root(s, root));
    return success;
  }
  if (int code = check_own(p, s, "receive", recvbuf, recvcount, recvtype, own)) return code;
  list_scatter(s, nullptr, &own, own.bytes, meet_root(s, root));
  return success;
}

int make_inter_scatterv(Process& p, Schedule& s, const void* sendbuf, const CountArray& sendcounts, const CountArray& displs,
                        Datatype& sendtype, void* recvbuf, Count recvcount, Datatype& recvtype, int root) {
  if (int code = check_inter_root(p, root, s.comm())) return code;
  if (root == proc_null) return success;
  if (root == mpi::root) {
    Part* blocks = nullptr;
    if (int code = check_each(p, s, "send", sendbuf, sendcounts, displs, sendtype, blocks)) return code;
    list_scatter_linear(s, blocks, nullptr, meet_root(s, root));
    return success;
  }
  Part own;
  if (int code = check_own(p, s, "receive", recvbuf, recvcount, recvtype, own)) return code;
  list_scatter_linear(s, nullptr, &own, meet_root(s, root));
  return success;
}

// The group reduces to its rank 0, so that the order of ranks holds, and that one sends the result to the root.
int make_inter_reduce(Process& p, Schedule& s, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op,
                      int root) {
  if (int code = check_inter_root(p, root, s.comm())) return code;
  if (root == proc_null) return success;
  const bool here = root == mpi::root;
  const void* used = here ? recvbuf : sendbuf;
  if (int code = check_in_place(p, here ? "receive" : "send", used)) return code;
  if (int code = check_reduction(p, used, used, count, type, op)) return code;
  s.keep(type);
  s.keep(op);
  const Reduction r{&op, &type, count};
  if (r.bytes() == 0) return success;
  if (s.defers(op)) {
    list_gathered_inter_reduce(s, r, sendbuf, recvbuf, root);
    return success;
  }
  const bool first = s.comm().rank() == 0;
  std::byte* result = nullptr;
  if (!here) {
    if (first) result = s.temporary(count, type);
    list_reduce(s, r, sendbuf, result, 0);
    s.settle();
  }
  s.among(*s.comm().remote);
  if (here) s.recv(0, r.part(recvbuf));
  else if (first) s.send(root, r.part(result));
  return success;
}

}  // namespace hf::mpi
