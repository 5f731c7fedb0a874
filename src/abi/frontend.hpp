// Calls the program's functions, on its stack, with the handles of the front end that they were registered through.
#pragma once
#include <algorithm>
#include <limits>

#include "abi/handles.hpp"
#include "abi/own_stack.hpp"
#include "mpi/datatype.hpp"
#include "mpi/frontend.hpp"
#include "mpi/session.hpp"
#include "mpi/status.hpp"

namespace hf::abi {

// Kinds of Callback::kind.
inline constexpr int small_form = 0, large_form = 1;

template <class Abi>
class FrontendOf final : public mpi::Frontend {
 public:
  static const FrontendOf& instance() {
    static const FrontendOf the_frontend;
    return the_frontend;
  }

  void call_op(const mpi::Callback& callback, const void* in, void* inout, mpi::Count count,
               mpi::Datatype& type) const override {
    auto lent = handles().template lend<typename Abi::Datatype>(type);
    if (callback.kind == large_form) {
      on_program<typename Abi::User_function_c>(callback, const_cast<void*>(in), inout, &count, &lent.handle);
      return;
    }
    // A function of the small form sees what does not fit an int in several calls.
    constexpr mpi::Count most = std::numeric_limits<int>::max();
    for (mpi::Count done = 0; done < count;) {
      int length = static_cast<int>(std::min(count - done, most));
      const std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(done * type.extent);
      on_program<typename Abi::User_function>(callback, 
          const_cast<char*>(static_cast<const char*>(in)) + offset, static_cast<char*>(inout) + offset, &length,
          &lent.handle);
      done += std::min(count - done, most);
    }
  }

  int call_comm_copy_attribute(const mpi::Callback& callback, mpi::Comm& comm, int keyval, void* extra, void* in,
                               void* out, int* flag) const override {
    auto lent = handles().template lend<typename Abi::Comm>(comm);
    return on_program<typename Abi::Comm_copy_attr_function>(callback, lent.handle, keyval, extra, in, out, flag);
  }
  int call_comm_delete_attribute(const mpi::Callback& callback, mpi::Comm& comm, int keyval, void* value,
                                 void* extra) const override {
    auto lent = handles().template lend<typename Abi::Comm>(comm);
    return on_program<typename Abi::Comm_delete_attr_function>(callback, lent.handle, keyval, value, extra);
  }
  int call_type_copy_attribute(const mpi::Callback& callback, mpi::Datatype& type, int keyval, void* extra, void* in,
                               void* out, int* flag) const override {
    auto lent = handles().template lend<typename Abi::Datatype>(type);
    return on_program<typename Abi::Type_copy_attr_function>(callback, lent.handle, keyval, extra, in, out, flag);
  }
  int call_type_delete_attribute(const mpi::Callback& callback, mpi::Datatype& type, int keyval, void* value,
                                 void* extra) const override {
    auto lent = handles().template lend<typename Abi::Datatype>(type);
    return on_program<typename Abi::Type_delete_attr_function>(callback, lent.handle, keyval, value, extra);
  }

  void call_comm_errhandler(const mpi::Callback& callback, mpi::Comm* comm, int* code) const override {
    call_with_handle<typename Abi::Comm_errhandler_function, typename Abi::Comm>(callback, comm, code);
  }
  void call_file_errhandler(const mpi::Callback& callback, int* code) const override {
    call_with_null<typename Abi::File_errhandler_function, typename Abi::File, mpi::File>(callback, code);
  }
  void call_session_errhandler(const mpi::Callback& callback, mpi::Session* session, int* code) const override {
    call_with_handle<typename Abi::Session_errhandler_function, typename Abi::Session>(callback, session, code);
  }

  int call_grequest_query(const mpi::Callback& callback, void* extra, mpi::Status& status) const override {
    if (!callback) return 0;
    typename Abi::Status converted{};
    Abi::store(converted, status, true);
    const int code = on_program<typename Abi::Grequest_query_function>(callback, extra, &converted);
    status = Abi::load(converted);
    return code;
  }
  int call_grequest_free(const mpi::Callback& callback, void* extra) const override {
    return callback ? on_program<typename Abi::Grequest_free_function>(callback, extra) : 0;
  }
  int call_grequest_cancel(const mpi::Callback& callback, void* extra, int complete) const override {
    return callback ? on_program<typename Abi::Grequest_cancel_function>(callback, extra, complete) : 0;
  }

 private:
  template <class Function>
  static Function* function(const mpi::Callback& callback) {
    return reinterpret_cast<Function*>(callback.function);
  }
  template <class Function, class... Arguments>
  static auto on_program(const mpi::Callback& callback, Arguments... arguments) {
    const mpi::Process::Outside outside(process());
    return on_program_stack([&] { return function<Function>(callback)(arguments...); });
  }
  template <class Function, class Handle, class Object>
  static void call_with_null(const mpi::Callback& callback, int* code) {
    auto handle = Abi::template handle<Handle>(facts<Object>.null);
    on_program<Function>(callback, &handle, code);
  }
  // Of the object, or the null handle.
  template <class Function, class Handle, class Object>
  static void call_with_handle(const mpi::Callback& callback, Object* object, int* code) {
    if (!object) return call_with_null<Function, Handle, Object>(callback, code);
    auto lent = handles().template lend<Handle>(*object);
    on_program<Function>(callback, &lent.handle, code);
  }
  static Handles<Abi>& handles() { return Handles<Abi>::instance(); }
};

}  // namespace hf::abi
