// Groups (MPI 5.0, 7.3): an ordered set of job-wide ranks.
#pragma once
#include <vector>

#include "base/ids.hpp"
#include "mpi/object.hpp"

namespace hf::mpi {

struct Group : Object {
  std::vector<Rank> members;  // by group rank; does not change once rank_of has been asked
  int self = -32766;          // this process's rank in the group, or MPI_UNDEFINED
  int size() const { return static_cast<int>(members.size()); }
  Rank world(int rank) const { return members[static_cast<std::size_t>(rank)]; }
  // MPI_UNDEFINED when not a member. Constant time where ranks are those of MPI_COMM_WORLD, else a search in an index
  // that the first question makes.
  int rank_of(Rank world) const;

 private:
  mutable std::vector<int> by_world_;  // group ranks, in order of their job-wide ranks
};

}  // namespace hf::mpi
