// Intracommunicators (MPI 5.0, chapter 7). A communicator has its contexts (context_name.hpp): `point` for the program's
// messages, `collective` for numbered ones, and one for MPI_Comm_create_group, opened when that is first called.
#pragma once
#include <string>

#include "base/ids.hpp"
#include "mpi/attribute.hpp"
#include "mpi/group.hpp"
#include "mpi/info.hpp"
#include "mpi/errhandler.hpp"

namespace hf::engine {
class Engine;
}

namespace hf::mpi {

struct Comm : Object {
  Comm() = default;
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  ~Comm();  // closes its contexts
  Group* group = nullptr;  // one reference
  Context point{};
  Context collective{};
  engine::Engine* engine = nullptr;  // where the contexts are open; null: not yet (MPI_Comm_idup in progress)
  bool creation_open = false;
  Errhandler* errhandler = nullptr;  // one reference
  Info* info = nullptr;
  std::string name;
  AttributeMap attributes;
  int rank() const { return group->self; }
  int size() const { return group->size(); }
  Rank world(int rank) const { return group->world(rank); }
};

}  // namespace hf::mpi
