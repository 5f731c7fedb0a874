// How callbacks leave mpi/: through the front end that registered them, which alone knows handle values.
#pragma once
#include <cstdint>

#include "mpi/constants.hpp"

namespace hf::mpi {

struct Comm;
struct Datatype;
struct Request;
struct Session;
struct Status;
class Frontend;

// A function of the program and the front end that took it. `kind` is the front end's own (which calling convention).
// MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN and their like have no function; MPI_DUP_FN has none and says `duplicates`.
struct Callback {
  void (*function)() = nullptr;
  const Frontend* frontend = nullptr;
  int kind = 0;
  bool duplicates = false;
  explicit operator bool() const { return function != nullptr; }
};

class Frontend {
 public:
  virtual ~Frontend() = default;
  virtual void call_op(const Callback&, const void* in, void* inout, Count count, Datatype&) const = 0;
  virtual int call_comm_copy_attribute(const Callback&, Comm&, int keyval, void* extra, void* in, void* out, int* flag) const = 0;
  virtual int call_comm_delete_attribute(const Callback&, Comm&, int keyval, void* value, void* extra) const = 0;
  virtual int call_type_copy_attribute(const Callback&, Datatype&, int keyval, void* extra, void* in, void* out, int* flag) const = 0;
  virtual int call_type_delete_attribute(const Callback&, Datatype&, int keyval, void* value, void* extra) const = 0;
  virtual void call_comm_errhandler(const Callback&, Comm*, int* code) const = 0;   // null: MPI_COMM_NULL
  virtual void call_file_errhandler(const Callback&, int* code) const = 0;          // with MPI_FILE_NULL
  virtual void call_session_errhandler(const Callback&, Session*, int* code) const = 0;  // null: MPI_SESSION_NULL
  virtual int call_grequest_query(const Callback&, void* extra, Status&) const = 0;
  virtual int call_grequest_free(const Callback&, void* extra) const = 0;
  virtual int call_grequest_cancel(const Callback&, void* extra, int complete) const = 0;
};

}  // namespace hf::mpi
