// A front end that no MPI has: handles are structures whose bits are scrambled, null handles are not zero, the status has
// another layout, and the functions that stand for a behaviour have other values. mpi/ must not notice.
#pragma once
#include <cstdint>

#include "abi/kinds.hpp"
#include "mpi/status.hpp"

namespace hf::abi {

template <class Tag>
struct FakeHandle {
  std::uint64_t bits = 0xdead;
  bool operator==(const FakeHandle&) const = default;
};

struct FakeStatus {
  bool was_cancelled = false;
  std::int64_t byte_count = -1;
  short error_code = -1;
  long message_tag = -1;
  long message_source = -1;
};

struct Fake {
  using Comm = FakeHandle<struct CommTag>;
  using Group = FakeHandle<struct GroupTag>;
  using Message = FakeHandle<struct MessageTag>;
  using Info = FakeHandle<struct InfoTag>;
  using Errhandler = FakeHandle<struct ErrhandlerTag>;
  using Request = FakeHandle<struct RequestTag>;
  using Datatype = FakeHandle<struct DatatypeTag>;
  using Op = FakeHandle<struct OpTag>;
  using Win = FakeHandle<struct WinTag>;
  using File = FakeHandle<struct FileTag>;
  using Session = FakeHandle<struct SessionTag>;
  using Status = FakeStatus;

  using User_function = void(void*, void*, int*, Datatype*);
  using User_function_c = void(void*, void*, mpi::Count*, Datatype*);
  using Copy_function = int(Comm, int, void*, void*, void*, int*);
  using Delete_function = int(Comm, int, void*, void*);
  using Comm_copy_attr_function = Copy_function;
  using Comm_delete_attr_function = Delete_function;
  using Type_copy_attr_function = int(Datatype, int, void*, void*, void*, int*);
  using Type_delete_attr_function = int(Datatype, int, void*, void*);
  using Win_copy_attr_function = int(Win, int, void*, void*, void*, int*);
  using Win_delete_attr_function = int(Win, int, void*, void*);
  using Comm_errhandler_function = void(Comm*, int*, ...);
  using File_errhandler_function = void(File*, int*, ...);
  using Win_errhandler_function = void(Win*, int*, ...);
  using Session_errhandler_function = void(Session*, int*, ...);
  using Grequest_query_function = int(void*, Status*);
  using Grequest_free_function = int(void*);
  using Grequest_cancel_function = int(void*, int);

  static constexpr std::uint64_t scramble = 0xfa4e'0000'0000'5eed;

  template <class Handle>
  static HandleNumber number(Handle handle) {
    const std::uint64_t number = (handle.bits ^ scramble) >> 8;
    return number <= 0x7fffffff ? static_cast<HandleNumber>(number) : 0;
  }
  template <class Handle>
  static Handle handle(HandleNumber number) {
    return {static_cast<std::uint64_t>(number) << 8 ^ scramble};
  }

  template <class Function>
  static bool is_null_function(Function* function) {
    return reinterpret_cast<std::uintptr_t>(function) == 7;
  }
  template <class Function>
  static bool is_dup_function(Function* function) {
    return reinterpret_cast<std::uintptr_t>(function) == 8;
  }

  static bool in_place(const void* buffer) { return buffer == reinterpret_cast<const void*>(1); }
  static bool ignored(const Status* status) { return status == reinterpret_cast<const Status*>(9); }

  static mpi::Status load(const Status& status) {
    return {.source = static_cast<int>(status.message_source), .tag = static_cast<int>(status.message_tag),
            .error = status.error_code, .bytes = status.byte_count, .cancelled = status.was_cancelled};
  }
  static void store(Status& status, const mpi::Status& from, bool with_error) {
    status.message_source = from.source;
    status.message_tag = from.tag;
    if (with_error) status.error_code = static_cast<short>(from.error);
    status.byte_count = from.bytes;
    status.was_cancelled = from.cancelled;
  }
};

}  // namespace hf::abi
