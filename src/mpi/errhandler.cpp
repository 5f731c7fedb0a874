#include "mpi/errhandler.hpp"

#include <fmt/format.h>

#include <utility>

#include "mpi/api.hpp"
#include "mpi/process.hpp"
#include "mpi/session.hpp"

namespace hf::mpi {
namespace {

int create(Process& p, Errhandler::Owner owner, const Callback& function, Errhandler*& errhandler) {
  if (!function) return p.explain(err_arg, "the function of an error handler is a null pointer");
  errhandler = new Errhandler;
  errhandler->kind = Errhandler::Kind::user;
  errhandler->owner = owner;
  errhandler->function = function;
  return success;
}

// The new handler of an object, or the default one of its kind.
int set(Process& p, Errhandler::Owner owner, const char* maker, Errhandler*& current, Errhandler& errhandler) {
  if (errhandler.kind == Errhandler::Kind::user && errhandler.owner != owner) {
    return p.explain(err_arg, fmt::format("the error handler was not made by {}", maker));
  }
  release(std::exchange(current, retain(&errhandler)));
  return success;
}

}  // namespace

int comm_create_errhandler(Process& p, Callback function, Errhandler*& errhandler) {
  return create(p, Errhandler::Owner::comm, function, errhandler);
}
int win_create_errhandler(Process& p, Callback function, Errhandler*& errhandler) {
  return create(p, Errhandler::Owner::win, function, errhandler);
}
int file_create_errhandler(Process& p, Callback function, Errhandler*& errhandler) {
  return create(p, Errhandler::Owner::file, function, errhandler);
}
int session_create_errhandler(Process& p, Callback function, Errhandler*& errhandler) {
  return create(p, Errhandler::Owner::session, function, errhandler);
}

int comm_set_errhandler(Process& p, Comm& comm, Errhandler& errhandler) {
  return set(p, Errhandler::Owner::comm, "MPI_Comm_create_errhandler", comm.errhandler, errhandler);
}

int comm_get_errhandler(Process&, Comm& comm, Errhandler*& errhandler) {
  errhandler = retain(comm.errhandler);
  return success;
}

// Of MPI_FILE_NULL: that of files to be opened, and of calls without a file (14.7).
int file_set_errhandler(Process& p, File*, Errhandler& errhandler) {
  return set(p, Errhandler::Owner::file, "MPI_File_create_errhandler", p.file_errhandler, errhandler);
}

int file_get_errhandler(Process& p, File*, Errhandler*& errhandler) {
  errhandler = retain(p.file_errhandler);
  return success;
}

int session_set_errhandler(Process& p, Session& session, Errhandler& errhandler) {
  return set(p, Errhandler::Owner::session, "MPI_Session_create_errhandler", session.errhandler, errhandler);
}

int session_get_errhandler(Process&, Session& session, Errhandler*& errhandler) {
  errhandler = retain(session.errhandler);
  return success;
}

// Predefined ones may be freed too: MPI_Comm_get_errhandler gives them as if they were new (9.3.4).
int errhandler_free(Process&, Errhandler*& errhandler) {
  release(errhandler);
  errhandler = nullptr;
  return success;
}

}  // namespace hf::mpi
