// Traits of the standard ABI of MPI 5.0 (chapter 20): a handle is a pointer whose value is its number.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "abi/kinds.hpp"
#include "mpi/status.hpp"

#pragma GCC visibility push(default)
#include "mpi.h"
#pragma GCC visibility pop

// After the definition of holdfast_MPI_X: it is what PMPI_X and, weak, MPI_X are, called by entries.S on the library's own stack, or where there is
// none by these names alone.
#if HOLDFAST_OWN_STACK
#define HF_ENTRY(name) static_assert(std::is_same_v<decltype(holdfast_##name), decltype(P##name)>)
#else
#define HF_ENTRY(name)                                                  \
  decltype(holdfast_##name) P##name __attribute__((alias("holdfast_" #name))); \
  decltype(holdfast_##name) name __attribute__((weak, alias("holdfast_" #name)))
#endif

namespace hf::abi {

struct Standard {
  using Comm = MPI_Comm;
  using Group = MPI_Group;
  using Message = MPI_Message;
  using Info = MPI_Info;
  using Errhandler = MPI_Errhandler;
  using Request = MPI_Request;
  using Datatype = MPI_Datatype;
  using Op = MPI_Op;
  using Win = MPI_Win;
  using File = MPI_File;
  using Session = MPI_Session;
  using Status = MPI_Status;

  using User_function = MPI_User_function;
  using User_function_c = MPI_User_function_c;
  using Copy_function = MPI_Copy_function;
  using Delete_function = MPI_Delete_function;
  using Comm_copy_attr_function = MPI_Comm_copy_attr_function;
  using Comm_delete_attr_function = MPI_Comm_delete_attr_function;
  using Type_copy_attr_function = MPI_Type_copy_attr_function;
  using Type_delete_attr_function = MPI_Type_delete_attr_function;
  using Win_copy_attr_function = MPI_Win_copy_attr_function;
  using Win_delete_attr_function = MPI_Win_delete_attr_function;
  using Comm_errhandler_function = MPI_Comm_errhandler_function;
  using File_errhandler_function = MPI_File_errhandler_function;
  using Win_errhandler_function = MPI_Win_errhandler_function;
  using Session_errhandler_function = MPI_Session_errhandler_function;
  using Grequest_query_function = MPI_Grequest_query_function;
  using Grequest_free_function = MPI_Grequest_free_function;
  using Grequest_cancel_function = MPI_Grequest_cancel_function;

  template <class Handle>
  static HandleNumber number(Handle handle) {
    const std::uintptr_t word = reinterpret_cast<std::uintptr_t>(handle);
    return word <= 0x7fffffff ? static_cast<HandleNumber>(word) : 0;
  }
  template <class Handle>
  static Handle handle(HandleNumber number) {
    return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(number));
  }

  template <class Function>
  static bool is_null_function(Function* function) {
    return function == nullptr;
  }
  template <class Function>
  static bool is_dup_function(Function* function) {
    return reinterpret_cast<std::uintptr_t>(function) == 1;
  }

  static bool in_place(const void* buffer) { return buffer == MPI_IN_PLACE; }
  static bool ignored(const Status* status) { return status == MPI_STATUS_IGNORE; }

  // MPI_internal: the length in bytes (two ints), whether it was cancelled, two unused.
  static mpi::Status load(const Status& status) {
    mpi::Status loaded{.source = status.MPI_SOURCE, .tag = status.MPI_TAG, .error = status.MPI_ERROR};
    std::memcpy(&loaded.bytes, status.MPI_internal, sizeof loaded.bytes);
    loaded.cancelled = status.MPI_internal[2] != 0;
    return loaded;
  }
  // The empty status, which says MPI_SUCCESS as well (3.7.3).
  static bool empty(const mpi::Status& status) {
    return status.source == MPI_ANY_SOURCE && status.tag == MPI_ANY_TAG;
  }
  static void store(Status& status, const mpi::Status& from, bool with_error) {
    status.MPI_SOURCE = from.source;
    status.MPI_TAG = from.tag;
    if (with_error || empty(from)) status.MPI_ERROR = from.error;
    std::memcpy(status.MPI_internal, &from.bytes, sizeof from.bytes);
    status.MPI_internal[2] = from.cancelled;
  }
};

}  // namespace hf::abi
