// Groups (MPI 5.0, 7.3): an ordered set of job-wide ranks. One that is made of others, or of a communicator, is of the same session (11.3);
// that of a communicator is its local group's.
#pragma once
#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "mpi/object.hpp"

namespace hf::mpi {

struct Session;

struct Group : Object {
  Group() = default;
  Group(std::vector<Rank> of, std::optional<Rank> this_process);  // null: this process is no member
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group();
  std::vector<Rank> members;  // by group rank; does not change once rank_of has been asked
  int self = -32766;          // this process's rank in the group, or MPI_UNDEFINED
  Session* session = nullptr;  // one reference; null: of MPI_Init's
  int size() const { return static_cast<int>(members.size()); }
  Rank world(int rank) const { return members[static_cast<std::size_t>(rank)]; }
  // MPI_UNDEFINED when not a member. Constant time where ranks are those of MPI_COMM_WORLD, else a search in an index
  // that the first question makes.
  int rank_of(Rank world) const;

 private:
  mutable std::vector<int> by_world_;  // group ranks, in order of their job-wide ranks
};

// One without members yet, of the same session.
Group* new_group(const Group& beside);

}  // namespace hf::mpi
