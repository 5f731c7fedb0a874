#include "mpi/errhandler.hpp"

#include "mpi/api.hpp"
#include "mpi/process.hpp"

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
  if (errhandler.kind == Errhandler::Kind::user && errhandler.owner != Errhandler::Owner::comm) {
    return p.explain(err_arg, "the error handler was not made by MPI_Comm_create_errhandler");
  }
  Errhandler* old = comm.errhandler;
  comm.errhandler = retain(&errhandler);
  release(old);
  return success;
}

int comm_get_errhandler(Process&, Comm& comm, Errhandler*& errhandler) {
  errhandler = retain(comm.errhandler);
  return success;
}

// Predefined ones may be freed too: MPI_Comm_get_errhandler gives them as if they were new (9.3.4).
int errhandler_free(Process&, Errhandler*& errhandler) {
  release(errhandler);
  errhandler = nullptr;
  return success;
}

}  // namespace hf::mpi
