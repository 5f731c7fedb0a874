// Collectives of intercommunicators (MPI 5.0, 6.2.3): data go from one group to the other, from or to a root or both ways.
// Inside of a group the algorithms are those of intracommunicators; each make_inter_... is its function's form for
// intercommunicators, checks its arguments and lists the steps (run.hpp). MPI_IN_PLACE has no meaning there (6.2.3).
//
// The root passes MPI_ROOT, the others of its group MPI_PROC_NULL and do nothing, those of the other group its rank.
#pragma once
#include "mpi/arrays.hpp"
#include "mpi/coll/algorithms.hpp"
#include "mpi/coll/schedule.hpp"

namespace hf::mpi {

// What rank 0 of each group has in `mine` is with all of the other group in `theirs` when the last step has run.
void list_swap(Schedule& s, const Part& mine, const Part& theirs);
// Each process of one group with each of the other; blocks by rank of the remote group.
void list_inter_exchange(Schedule& s, const Part* out, const Part* in);

int make_inter_bcast(Process& p, Schedule& s, void* buffer, Count count, Datatype& type, int root);
int make_inter_gather(Process& p, Schedule& s, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                      Count recvcount, Datatype& recvtype, int root);
int make_inter_gatherv(Process& p, Schedule& s, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                       const CountArray& recvcounts, const CountArray& displs, Datatype& recvtype, int root);
int make_inter_scatter(Process& p, Schedule& s, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                       Count recvcount, Datatype& recvtype, int root);
int make_inter_scatterv(Process& p, Schedule& s, const void* sendbuf, const CountArray& sendcounts, const CountArray& displs,
                        Datatype& sendtype, void* recvbuf, Count recvcount, Datatype& recvtype, int root);
int make_inter_reduce(Process& p, Schedule& s, const void* sendbuf, void* recvbuf, Count count, Datatype& type, Op& op,
                      int root);
int make_inter_allgather(Process& p, Schedule& s, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                         Count recvcount, Datatype& recvtype);
int make_inter_allgatherv(Process& p, Schedule& s, const void* sendbuf, Count sendcount, Datatype& sendtype, void* recvbuf,
                          const CountArray& recvcounts, const CountArray& displs, Datatype& recvtype);
// `r` has been checked, and is not of MPI_IN_PLACE.
void list_inter_allreduce(Schedule& s, const Reduction& r, const void* send, void* receive);
// `counts` by rank of the local group; r.count is their sum, and as much as in the other group.
void list_inter_reduce_scatter(Schedule& s, const Reduction& r, const void* send, void* receive, const Count* counts);

}  // namespace hf::mpi
