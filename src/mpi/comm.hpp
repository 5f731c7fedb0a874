// Communicators (MPI 5.0, chapter 7). A communicator has its contexts (context_name.hpp): `point` for the program's messages,
// `collective` for numbered ones, and `creation` for the messages by which some communicators are made, opened when one of
// them is first made.
//
// An intercommunicator (7.6) has two disjoint groups: of the process that holds it, and the remote one, of whose ranks the
// program names sources, destinations and roots. Both groups have the same contexts; collectives use their context for messages
// inside of a group as well.
#pragma once
#include <array>
#include <string>

#include "base/ids.hpp"
#include "core/collectives/choice.hpp"
#include "mpi/attribute.hpp"
#include "mpi/constants.hpp"
#include "mpi/group.hpp"
#include "mpi/info.hpp"
#include "mpi/errhandler.hpp"

namespace hf::engine {
class Engine;
}

namespace hf::mpi {

struct Topology;

struct Comm : Object {
  Comm() = default;
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  ~Comm();  // closes its contexts
  Group* group = nullptr;   // the local group; one reference
  Group* remote = nullptr;  // one reference; null: an intracommunicator
  Context point{};
  Context collective{};
  engine::Engine* engine = nullptr;  // where the contexts are open; null: not yet (MPI_Comm_idup in progress)
  bool channels_open = false;  // the context in which partitioned communication names its channels
  bool creation_open = false;
  Errhandler* errhandler = nullptr;  // one reference
  Info* info = nullptr;
  Topology* topology = nullptr;  // one reference; null: none
  std::string name;
  AttributeMap attributes;
  int nodes = 0;  // on which the members of `group` are, in the original map; 0: not counted yet
  std::array<core::collectives::Choice, wire::collective_count> choices{};  // the last one for each collective of `group`
  int rank() const { return group->self; }
  int size() const { return group->size(); }
  bool is_inter() const { return remote != nullptr; }
  // Those whom the program names by rank when it communicates.
  const Group& peers() const { return remote ? *remote : *group; }
  Rank world(int peer) const { return peers().world(peer); }
  // What this process is in a collective with a root (6.2.3): the root; one that gives to it or gets from it, with an
  // intercommunicator those of the other group; neither.
  bool is_root(int root) const { return remote ? root == mpi::root : rank() == root; }
  bool is_leaf(int root) const { return !remote || root >= 0; }
  bool looks_on(int root) const { return remote && root == proc_null; }
  // The group that has rank 0 with the lower job-wide number: alike on all members of both.
  bool is_lower() const { return group->world(0).value < remote->world(0).value; }
};

}  // namespace hf::mpi
