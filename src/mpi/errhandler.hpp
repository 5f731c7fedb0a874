// Error handlers (MPI 5.0, 9.3).
#pragma once
#include "mpi/frontend.hpp"
#include "mpi/object.hpp"

namespace hf::mpi {

struct Errhandler : Object {
  enum class Kind { errors_are_fatal, errors_abort, errors_return, user } kind = Kind::errors_are_fatal;
  enum class Owner { comm, win, file, session } owner = Owner::comm;  // of user ones: what they may be attached to
  Callback function;
};

}  // namespace hf::mpi
