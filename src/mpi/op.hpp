// Reduction operations (MPI 5.0, 6.9.2).
#pragma once
#include "mpi/constants.hpp"
#include "mpi/frontend.hpp"
#include "mpi/object.hpp"

namespace hf::mpi {

struct Datatype;

struct Op : Object {
  enum class Kind { null, max, min, sum, prod, land, band, lor, bor, lxor, bxor, maxloc, minloc, replace, no_op, user };
  Kind kind = Kind::user;
  bool commutative = true;
  Callback function;  // user only
};

// MPI_SUCCESS when `op` is defined on `type`, else MPI_ERR_OP.
int check_op(const Op& op, const Datatype& type);
// inout[i] = in[i] op inout[i], count elements; the pair has passed check_op.
void apply_op(const Op& op, const void* in, void* inout, Count count, Datatype& type);

}  // namespace hf::mpi
