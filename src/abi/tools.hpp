// The tool interface (MPI 5.0, 15.3), which the front end answers by itself: its handles name nothing but sessions of performance
// variables, and these are numbers. What several functions answer alike has a name that the table gives them (`as`).
#pragma once
#include <cstdint>

#include "mpi/error.hpp"
#include "mpi/tools.hpp"

namespace hf::abi::front {

template <class Abi>
int t_init_thread(int required, int* provided) {
  return mpi::tools::init_thread(required, provided);
}
template <class Abi>
int t_finalize() {
  return mpi::tools::finalize();
}

template <class Abi>
int t_count(int* number) {
  return mpi::tools::count(number);
}
template <class Abi>
int t_no_name(const char* name, const int* index) {
  return mpi::tools::find(name, index);
}
template <class Abi>
int t_no_name(const char* name, int /* var_class */, const int* index) {
  return mpi::tools::find(name, index);
}
// Of an enumeration too: it is found by its handle, and the standard calls that an index.
template <class Abi, class... Arguments>
int t_no_index(const Arguments&...) {
  return mpi::tools::refuse(mpi::t_err_invalid_index);
}
template <class Abi, class... Arguments>
int t_no_handle(const Arguments&...) {
  return mpi::tools::refuse(mpi::t_err_invalid_handle);
}

// ---- sessions

template <class Handle>
mpi::tools::Session session_number(Handle session) {
  return reinterpret_cast<mpi::tools::Session>(session);
}

template <class Abi, class Session>
int t_pvar_session_create(Session* session) {
  if (!session) return mpi::tools::refuse(mpi::t_err_invalid);
  mpi::tools::Session number = 0;
  const int code = mpi::tools::create_session(number);
  if (code == mpi::success) *session = reinterpret_cast<Session>(number);
  return code;
}
template <class Abi, class Session>
int t_pvar_session_free(Session* session) {
  if (!session) return mpi::tools::refuse(mpi::t_err_invalid);
  mpi::tools::Session number = session_number(*session);
  const int code = mpi::tools::free_session(number);
  *session = reinterpret_cast<Session>(number);
  return code;
}
template <class Abi, class Session, class... Arguments>
int t_pvar_handle_alloc(Session session, const Arguments&...) {
  return mpi::tools::refuse_in(session_number(session), mpi::t_err_invalid_index);
}
template <class Abi, class Session, class... Arguments>
int t_pvar_handle(Session session, const Arguments&...) {
  return mpi::tools::refuse_in(session_number(session), mpi::t_err_invalid_handle);
}
// Starts, stops or resets: all handles may be named at once, and are none (15.3.7).
template <class Abi, class Session, class Handle>
int t_pvar_control(Session session, Handle handle) {
  const bool all = reinterpret_cast<std::uintptr_t>(handle) == 1;  // MPI_T_PVAR_ALL_HANDLES
  return mpi::tools::refuse_in(session_number(session), all ? mpi::success : mpi::t_err_invalid_handle);
}

}  // namespace hf::abi::front
