// Alltoall, alltoallv and alltoallw.
#include "mpi/api.hpp"
#include "mpi/coll/algorithms.hpp"
#include "mpi/coll/blocks.hpp"
#include "mpi/coll/check.hpp"
#include "mpi/coll/inter.hpp"
#include "mpi/coll/run.hpp"

namespace hf::mpi {
namespace {

// With an intercommunicator blocks are by rank of the remote group, and none is a process's own.
int choose_blocks(Process& p, Schedule& s, const void* sendbuf) {
  if (!s.comm().is_inter()) return success;
  if (int code = check_in_place(p, "send", sendbuf)) return code;
  s.among(*s.comm().remote);
  return success;
}

void list_blocks(Schedule& s, const Part* out, const Part* in) {
  if (s.comm().is_inter()) list_inter_exchange(s, out, in);
  else list_exchange(s, out, in);
}

// MPI_IN_PLACE: what is to be sent is packed before anything is received over it.
const Part* packed_copy(Schedule& s, const Part* blocks) {
  std::size_t bytes = 0;
  for (int i = 0; i < s.size(); ++i) bytes += blocks[i].bytes;
  std::byte* at = s.temporary(bytes);
  auto* out = s.array<Part>(s.size());
  for (int i = 0; i < s.size(); ++i) {
    out[i] = Part::raw(at, blocks[i].bytes);
    s.copy(blocks[i], out[i]);
    at += blocks[i].bytes;
  }
  return out;
}

int make_alltoall(Process& p, Schedule& s, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                  Count recvcount, Datatype& recvtype, Comm& comm) {
  const bool placed = sendbuf == in_place;
  if (int code = choose_blocks(p, s, sendbuf)) return code;
  if (int code = check_in_place(p, "receive", recvbuf)) return code;
  if (int code = check_blocks(p, "receive", recvbuf, recvcount, recvtype, comm.peers().size())) return code;
  if (!placed) {
    if (int code = check_blocks(p, "send", sendbuf, sendcount, sendtype, comm.peers().size())) return code;
    if (int code = check_apart(p, sendbuf, sendcount, sendtype, recvbuf, recvtype)) return code;
    s.keep(sendtype);
  }
  s.keep(recvtype);
  const Part* in = uniform_blocks(s, recvbuf, recvcount, recvtype, s.size());
  const Part* out = placed ? packed_copy(s, in) : uniform_blocks(s, sendbuf, sendcount, sendtype, s.size());
  if (comm.is_inter()) list_inter_exchange(s, out, in);
  else list_alltoall(s, out, in, in[0].bytes);
  return success;
}

int make_alltoallv(Process& p, Schedule& s, const void* sendbuf, CountArray sendcounts, CountArray sdispls,
                   Datatype& sendtype, void* recvbuf, CountArray recvcounts, CountArray rdispls, Datatype& recvtype,
                   Comm& comm) {
  const bool placed = sendbuf == in_place;
  if (int code = choose_blocks(p, s, sendbuf)) return code;
  if (int code = check_in_place(p, "receive", recvbuf)) return code;
  if (int code = check_vector(p, "receive", recvbuf, recvcounts, rdispls, recvtype, comm.peers().size())) return code;
  if (!placed) {
    if (int code = check_vector(p, "send", sendbuf, sendcounts, sdispls, sendtype, comm.peers().size())) return code;
  }
  if (!placed) s.keep(sendtype);
  s.keep(recvtype);
  const Part* in = vector_blocks(s, recvbuf, recvcounts, rdispls, recvtype, s.size());
  const Part* out = placed ? packed_copy(s, in) : vector_blocks(s, sendbuf, sendcounts, sdispls, sendtype, s.size());
  list_blocks(s, out, in);
  return success;
}

using Types = std::span<Datatype* const>;

int make_alltoallw(Process& p, Schedule& s, const void* sendbuf, CountArray sendcounts, CountArray sdispls, Types sendtypes,
                   void* recvbuf, CountArray recvcounts, CountArray rdispls, Types recvtypes) {
  Part *in = nullptr, *out = nullptr;
  if (int code = choose_blocks(p, s, sendbuf)) return code;
  if (int code = check_in_place(p, "receive", recvbuf)) return code;
  if (int code = typed_blocks(p, s, "receive", recvbuf, recvcounts, rdispls, recvtypes, s.size(), in)) return code;
  if (sendbuf == in_place) {
    list_blocks(s, packed_copy(s, in), in);
    return success;
  }
  if (int code = typed_blocks(p, s, "send", sendbuf, sendcounts, sdispls, sendtypes, s.size(), out)) return code;
  list_blocks(s, out, in);
  return success;
}

}  // namespace

int alltoall(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
             Datatype& recvtype, Comm& comm) {
  return run_collective(p, comm, "Alltoall", [&](Schedule& s) {
    return make_alltoall(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  });
}

int ialltoall(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
              Datatype& recvtype, Comm& comm, Request*& request) {
  return start_collective(p, comm, "Ialltoall", request, [&](Schedule& s) {
    return make_alltoall(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  });
}

int alltoall_init(Process& p, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf, Count recvcount,
                  Datatype& recvtype, Comm& comm, Info*, Request*& request) {
  return init_collective(p, comm, "Alltoall_init", request, [&](Schedule& s) {
    return make_alltoall(p, s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  });
}

int alltoallv(Process& p, const void* sendbuf, CountArray sendcounts, CountArray sdispls, Datatype& sendtype,
              void* recvbuf, CountArray recvcounts, CountArray rdispls, Datatype& recvtype, Comm& comm) {
  return run_collective(p, comm, "Alltoallv", [&](Schedule& s) {
    return make_alltoallv(p, s, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
  });
}

int ialltoallv(Process& p, const void* sendbuf, CountArray sendcounts, CountArray sdispls, Datatype& sendtype,
               void* recvbuf, CountArray recvcounts, CountArray rdispls, Datatype& recvtype, Comm& comm, Request*& request) {
  return start_collective(p, comm, "Ialltoallv", request, [&](Schedule& s) {
    return make_alltoallv(p, s, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
  });
}

int alltoallv_init(Process& p, const void* sendbuf, CountArray sendcounts, CountArray sdispls, Datatype& sendtype,
                   void* recvbuf, CountArray recvcounts, CountArray rdispls, Datatype& recvtype, Comm& comm, Info*,
                   Request*& request) {
  return init_collective(p, comm, "Alltoallv_init", request, [&](Schedule& s) {
    return make_alltoallv(p, s, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
  });
}

int alltoallw(Process& p, const void* sendbuf, CountArray sendcounts, CountArray sdispls, Types sendtypes, void* recvbuf,
              CountArray recvcounts, CountArray rdispls, Types recvtypes, Comm& comm) {
  return run_collective(p, comm, "Alltoallw", [&](Schedule& s) {
    return make_alltoallw(p, s, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes);
  });
}

int ialltoallw(Process& p, const void* sendbuf, CountArray sendcounts, CountArray sdispls, Types sendtypes, void* recvbuf,
               CountArray recvcounts, CountArray rdispls, Types recvtypes, Comm& comm, Request*& request) {
  return start_collective(p, comm, "Ialltoallw", request, [&](Schedule& s) {
    return make_alltoallw(p, s, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes);
  });
}

int alltoallw_init(Process& p, const void* sendbuf, CountArray sendcounts, CountArray sdispls, Types sendtypes,
                   void* recvbuf, CountArray recvcounts, CountArray rdispls, Types recvtypes, Comm& comm, Info*,
                   Request*& request) {
  return init_collective(p, comm, "Alltoallw_init", request, [&](Schedule& s) {
    return make_alltoallw(p, s, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes);
  });
}

}  // namespace hf::mpi
