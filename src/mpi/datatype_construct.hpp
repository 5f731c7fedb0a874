// What the constructors of datatypes share.
#pragma once
#include "mpi/datatype_body.hpp"

namespace hf::mpi {

class Process;

// Makes the new type, or says that it is too large.
int check_nesting(Process& p, const Envelope& envelope);
int finish_type(Process& p, Shape shape, Envelope envelope, Datatype*& newtype);

}  // namespace hf::mpi
