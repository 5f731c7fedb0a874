// One call of an MPI function by the program, as the generated entry points (entry/) make it: counted, its arguments
// checked and converted, its error raised. `Abi` is the front end's traits, see handles.hpp; of its Status:
//   static bool ignored(const Status*)                       it is MPI_STATUS_IGNORE or MPI_STATUSES_IGNORE
//   static mpi::Status load(const Status&)
//   static void store(Status&, const mpi::Status&, bool with_error)
#pragma once
#include <fmt/format.h>

#include <concepts>
#include <limits>
#include <type_traits>

#include "abi/frontend.hpp"
#include "abi/handles.hpp"
#include "abi/raise.hpp"
#include "mpi/api.hpp"

namespace hf::abi {

// The name of the form that is called.
template <class Number>
constexpr const char* form(const char* small, const char* large) {
  return std::same_as<Number, int> ? small : large;
}

struct Anytime {};  // of a function that may be called before MPI_Init, after MPI_Finalize and without a session
inline constexpr Anytime anytime{};
struct Anywhere {  // of one that any thread may call: from another than the main one it does not count as a call
  bool anytime;
};
inline constexpr Anywhere anywhere{false}, anywhere_anytime{true};

template <class Abi>
class Call {
 public:
  explicit Call(const char* function) : function_(function) {
    if (p.phase != mpi::Process::Phase::joined) [[unlikely]] called_outside(p, function);
    marked_ = p.begin_call(function);
  }
  Call(const char* function, Anytime) : function_(function) {
    if (p.phase == mpi::Process::Phase::joined) marked_ = p.begin_call(function);
  }
  Call(const char* function, Anywhere where) : function_(function) {
    const bool joined = p.phase == mpi::Process::Phase::joined;
    if (!joined && !where.anytime) called_outside(p, function);
    if (joined && p.on_main_thread()) marked_ = p.begin_call(function);
  }
  ~Call() { p.end_call(marked_); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  mpi::Process& p = process();

  // ---- arguments. The first bad one decides the error; what is returned for it must not be used.

  bool bad() const { return code_ != mpi::success; }

  // Its error handler gets this call's errors.
  template <class Handle>
  mpi::Comm* comm(Handle handle, const char* name) {
    mpi::Comm* comm = object<mpi::Comm>(handle, name);
    if (!blamed_.comm) blamed_.comm = comm;
    return comm;
  }

  template <class Handle>
  mpi::Session* session(Handle handle, const char* name) {
    mpi::Session* session = object<mpi::Session>(handle, name);
    if (!blamed_.session) blamed_.session = session;
    return session;
  }

  // As comm(), for a function that looks no further at it.
  template <class Handle>
  void blame(Handle handle) {
    blamed_.comm = handles_.template find<mpi::Comm>(Abi::number(handle));
  }

  // There are no files: all their errors go to the handler that MPI_FILE_NULL has, as those of MPI_File_open do (14.7).
  void blame_files() { blamed_.handler = p.file_errhandler; }
  template <class Handle>
  mpi::File* file(Handle handle, const char* name) {
    blame_files();
    return optional<mpi::File>(handle, name);
  }

  // This error handler gets the call's errors, if it is one, and for objects such as the call makes.
  template <class Handle>
  void tell(Handle handle) {
    using Owner = mpi::Errhandler::Owner;
    mpi::Errhandler* handler = handles_.template find<mpi::Errhandler>(Abi::number(handle));
    const bool fits = handler && (handler->owner == Owner::comm || handler->owner == Owner::session);
    if (fits) blamed_.handler = handler;
  }

  template <class Object, class Handle>
  Object* object(Handle handle, const char* name) {
    Object* object = handles_.template find<Object>(Abi::number(handle));
    if (!object) [[unlikely]] bad_handle<Object>(Abi::number(handle), name);
    return object;
  }

  // The null handle is legal and gives null.
  template <class Object, class Handle>
  Object* optional(Handle handle, const char* name) {
    if (Abi::number(handle) == facts<Object>.null) return nullptr;
    return object<Object>(handle, name);
  }

  // The same for a handle that is passed by address.
  template <class Object, class Handle>
  Object* object_at(const Handle* handle, const char* name) {
    address(handle, name);
    return handle ? object<Object>(*handle, name) : nullptr;
  }
  template <class Object, class Handle>
  Object* optional_at(const Handle* handle, const char* name) {
    address(handle, name);
    return handle ? optional<Object>(*handle, name) : nullptr;
  }
  template <class Handle>
  mpi::Comm* comm_at(const Handle* handle, const char* name) {
    address(handle, name);
    return handle ? comm(*handle, name) : nullptr;
  }
  template <class Handle>
  mpi::Session* session_at(const Handle* handle, const char* name) {
    address(handle, name);
    return handle ? session(*handle, name) : nullptr;
  }

  template <class Handle>
  mpi::Datatype* committed(Handle handle, const char* name) {
    mpi::Datatype* type = object<mpi::Datatype>(handle, name);
    if (type && !type->committed) [[unlikely]] {
      fail(mpi::err_type, fmt::format("{} has not been committed", name));
    }
    return type;
  }
  // An argument that is not significant here may be anything; mpi/ then gets MPI_BYTE.
  template <class Handle>
  mpi::Datatype* committed(Handle handle, const char* name, bool significant) {
    return significant ? committed(handle, name) : placeholder();
  }

  static mpi::Datatype* placeholder() {
    static mpi::Datatype* const byte = mpi::predefined_datatype(0x247);
    return byte;
  }

  void not_negative(mpi::Count value, int error, const char* name) {
    if (value < 0) [[unlikely]] fail(error, fmt::format("{} is {}, it must not be negative", name, value));
  }

  void address(const void* address, const char* name) {
    if (!address) [[unlikely]] fail(mpi::err_arg, fmt::format("{} is a null pointer", name));
  }

  void array(const void* first, mpi::Count length, const char* name) {
    if (!first && length > 0) [[unlikely]] fail(mpi::err_arg, fmt::format("{} is a null pointer", name));
  }

  // ---- callbacks

  template <class Function>
  mpi::Callback callback(Function* function, int kind = 0) {
    return {reinterpret_cast<void (*)()>(function), &FrontendOf<Abi>::instance(), kind};
  }
  template <class Function>
  mpi::Callback copy_callback(Function* function) {
    if (Abi::is_null_function(function)) return {};
    if (Abi::is_dup_function(function)) return {.frontend = &FrontendOf<Abi>::instance(), .duplicates = true};
    return callback(function);
  }
  template <class Function>
  mpi::Callback delete_callback(Function* function) {
    if (Abi::is_null_function(function)) return {};
    return callback(function);
  }

  // ---- results

  // A new handle for the program.
  template <class Handle, class Object>
  void give(Handle* to, Object* object) {
    *to = handles_.template give<Handle>(object);
  }

  // A handle that the function may have freed: `object` is null then.
  template <class Handle, class Object>
  void give_back(Handle* handle, Object* object, bool was_null) {
    if (object || was_null) return;
    handles_.drop(Abi::number(*handle));
    *handle = Abi::template handle<Handle>(facts<Object>.null);
  }

  template <class Number>
  static Number narrow(mpi::Count value) {
    if (value > std::numeric_limits<Number>::max() || value < std::numeric_limits<Number>::min()) return mpi::undefined;
    return static_cast<Number>(value);
  }

  // The code that the MPI function returns.
  int result(int code) { return code == mpi::success ? code : raise(p, function_, code, blamed_); }
  int refuse() { return raise(p, function_, code_, blamed_); }

  // This library does not have the function. With MPI_ERRORS_RETURN, which is the default for files (14.7), a line tells the user:
  // programs seldom look at the code, and go on with what was not made.
  int unsupported(const char* consequence = "") {
    if (only_returns(p, blamed_)) note_unsupported(p, function_, consequence);
    fail(mpi::err_unsupported_operation, unsupported_text(function_));
    return refuse();
  }

  void fail(int code, std::string text) {
    if (bad()) return;
    code_ = code;
    p.explain(code, std::move(text));
  }

  Handles<Abi>& handles() { return handles_; }
  const char* function() const { return function_; }

 private:
  template <class Object>
  [[gnu::cold, gnu::noinline]] void bad_handle(HandleNumber number, const char* name) {
    constexpr KindFacts kind = facts<Object>;
    if (kind.kind == Kind::comm && number > kind.null && number <= kind.last) {
      return fail(kind.error, fmt::format("{} is predefined, and there from MPI_Init to MPI_Finalize alone", name));
    }
    fail(kind.error, number == kind.null ? fmt::format("{} is {}", name, kind.null_name)
                                         : fmt::format("{} is not a {}, or one that was freed{}", name, kind.noun, second_mpi_text()));
  }

  const char* function_;
  mpi::Process::Marked marked_ = mpi::Process::Marked::no;
  Blamed blamed_;
  int code_ = mpi::success;
  Handles<Abi>& handles_ = Handles<Abi>::instance();
};

// A function that is in the standard and not in this library: MPI_ERR_UNSUPPORTED_OPERATION through the error handler.
template <class Abi>
int unsupported(const char* function) {
  return Call<Abi>(function).unsupported();
}
template <class Abi, class Handle>
int unsupported(const char* function, Handle comm) {
  Call<Abi> call(function);
  call.blame(comm);
  return call.unsupported();
}
template <class Abi>
int unsupported_in_files(const char* function) {
  Call<Abi> call(function);
  call.blame_files();
  return call.unsupported(", and nothing was read or written");
}

}  // namespace hf::abi
