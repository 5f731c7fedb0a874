// Functions that the front end answers by itself.
#pragma once
#include "abi/call.hpp"
#include "mpi/completion.hpp"
#include "mpi/joining.hpp"
#include "mpi/request.hpp"
#include "mpi/session.hpp"

namespace hf::abi::front {

// Handles as integers, for Fortran (MPI 5.0, 19.3.4): the handle's number.
template <class Abi, class Handle>
int to_int(Handle handle) {
  return static_cast<int>(Abi::number(handle));
}
template <class Abi, class Handle>
Handle from_int(int number) {
  return Abi::template handle<Handle>(static_cast<HandleNumber>(number));
}

// Addresses wrap, as MPI_Aint values of the whole address space do.
template <class Abi>
mpi::Count aint_add(mpi::Count base, mpi::Count disp) {
  return static_cast<mpi::Count>(static_cast<std::uint64_t>(base) + static_cast<std::uint64_t>(disp));
}
template <class Abi>
mpi::Count aint_diff(mpi::Count addr1, mpi::Count addr2) {
  return static_cast<mpi::Count>(static_cast<std::uint64_t>(addr1) - static_cast<std::uint64_t>(addr2));
}

template <class Abi>
int comm_call_errhandler(typename Abi::Comm comm, int errorcode) {
  Call<Abi> call("MPI_Comm_call_errhandler");
  mpi::Comm* comm_ = call.comm(comm, "comm");
  if (call.bad()) [[unlikely]] return call.refuse();
  return call_errhandler(call.p, call.function(), {.comm = comm_}, errorcode);
}

template <class Abi>
int session_call_errhandler(typename Abi::Session session, int errorcode) {
  Call<Abi> call("MPI_Session_call_errhandler", anytime);
  mpi::Session* session_ = call.session(session, "session");
  if (call.bad()) [[unlikely]] return call.refuse();
  return call_errhandler(call.p, call.function(), {.session = session_}, errorcode);
}

// Where there is no such set, the group is MPI_GROUP_NULL (MPI 5.0, 11.3.2).
template <class Abi>
int group_from_session_pset(typename Abi::Session session, const char* pset_name, typename Abi::Group* newgroup) {
  Call<Abi> call("MPI_Group_from_session_pset", anytime);
  mpi::Session* session_ = call.session(session, "session");
  call.address(pset_name, "pset_name");
  call.address(newgroup, "newgroup");
  if (call.bad()) [[unlikely]] return call.refuse();
  mpi::Group* newgroup_ = nullptr;
  const int code = mpi::group_from_session_pset(call.p, *session_, pset_name, newgroup_);
  call.give(newgroup, newgroup_);
  return call.result(code);
}

template <class Abi>
int finalize() {
  Call<Abi> call("MPI_Finalize");
  const int code = mpi::finalize(call.p);
  if (code == mpi::success) call.handles().forget_communicators();
  return call.result(code);
}

template <class Abi>
int file_call_errhandler(typename Abi::File fh, int errorcode) {
  Call<Abi> call("MPI_File_call_errhandler");
  call.file(fh, "fh");
  if (call.bad()) [[unlikely]] return call.refuse();
  return call_errhandler(call.p, call.function(), {.handler = call.p.file_errhandler}, errorcode);
}

// A generalized request that is freed before it is complete keeps its number, since MPI_Grequest_complete still has to
// name it (MPI 5.0, 13.2).
template <class Abi>
int request_free(typename Abi::Request* request) {
  Call<Abi> call("MPI_Request_free");
  call.address(request, "request");
  mpi::Request* request_ = request ? call.template object<mpi::Request>(*request, "request") : nullptr;
  if (call.bad()) [[unlikely]] return call.refuse();
  const bool named_later = request_->kind == mpi::Request::Kind::generalized && !request_->done();
  const int code = mpi::request_free(call.p, request_);
  if (named_later) {
    *request = Abi::template handle<typename Abi::Request>(facts<mpi::Request>.null);
  } else {
    call.give_back(request, request_, false);
  }
  return call.result(code);
}

template <class Abi>
int grequest_complete(typename Abi::Request request) {
  Call<Abi> call("MPI_Grequest_complete");
  mpi::Request* request_ = call.template object<mpi::Request>(request, "request");
  if (call.bad()) [[unlikely]] return call.refuse();
  const int code = mpi::grequest_complete(call.p, request_);
  call.give_back(&request, request_, false);
  return call.result(code);
}

}  // namespace hf::abi::front
