// Making communicators (MPI 5.0, 7.4.2); by splitting one: comm_split.cpp; of two groups: intercomm.cpp. A new communicator is
// named by the process that is rank 0 of its group, with that process's next creation number, drawn when the call is made; the
// members hear of it in ordinary messages (design rule 1, docs/contexts.md).
#include <fmt/format.h>

#include <algorithm>

#include "mpi/api.hpp"
#include "mpi/coll/algorithms.hpp"
#include "mpi/coll/inter.hpp"
#include "mpi/coll/run.hpp"
#include "mpi/comm_hints.hpp"
#include "mpi/comm_make.hpp"
#include "mpi/process.hpp"
#include "mpi/topology.hpp"

namespace hf::mpi {
namespace {

// What a duplicate gets at the call: attributes through their copy functions, the error handler, the topology, and these
// hints, if any.
int copy_for_dup(Process& p, Comm& comm, const Info* hints, Comm*& made) {
  Comm* copy = unnamed_comm(comm, copy_group(*comm.group), copy_group(comm.remote));
  if (int code = copy_attributes(p, comm, *copy)) {
    release(copy);
    return code;
  }
  if (hints) add_comm_hints(*copy, *hints);
  copy->topology = retain(comm.topology);
  made = copy;
  return success;
}

// Of an intercommunicator both groups hear of the name.
int list_duplicate(Process& p, Schedule& s, Comm& made) {
  if (made.is_inter()) s.among_both_groups();
  return list_naming(p, s, made);
}

int duplicate(Process& p, Comm& comm, const Info* hints, const char* name, Comm*& newcomm) {
  Comm* made = nullptr;
  if (int code = copy_for_dup(p, comm, hints, made)) return code;
  const int code = run_collective(p, comm, name, [&](Schedule& s) { return list_duplicate(p, s, *made); });
  if (code) release(made);
  else newcomm = made;
  return code;
}

int start_duplicate(Process& p, Comm& comm, const Info* hints, const char* name, Comm*& newcomm, Request*& request) {
  Comm* made = nullptr;
  if (int code = copy_for_dup(p, comm, hints, made)) return code;
  const int code = start_collective(p, comm, name, request, [&](Schedule& s) { return list_duplicate(p, s, *made); });
  if (code) release(made);
  else newcomm = made;
  return code;
}

int check_subgroup(Process& p, const Comm& comm, const Group& group) {
  for (Rank member : group.members) {
    if (comm.group->rank_of(member) != undefined) continue;
    return p.explain(err_group, fmt::format("rank {} of MPI_COMM_WORLD is in the group but not in the communicator", member.value));
  }
  return success;
}

// A group's part of a new intercommunicator: a name for it, and its members by rank in their old group, -1 behind the last.
struct NewSide {
  Context name;
  std::vector<std::int32_t> ranks;
  explicit NewSide(const Group& old) : ranks(old.members.size(), -1) {}
  Part name_part() { return Part::raw(&name, sizeof name); }
  Part ranks_part() { return Part::raw(ranks.data(), ranks.size() * sizeof(std::int32_t)); }
};

// All of the old groups take part, the members of the new ones or not. Rank 0 of the new group draws the name.
int exchange_sides(Process& p, Comm& comm, const Group& group, NewSide& mine, NewSide& theirs) {
  for (std::size_t i = 0; i < group.members.size(); ++i) mine.ranks[i] = comm.group->rank_of(group.members[i]);
  return run_collective(p, comm, "Comm_create", [&](Schedule& s) {
    const int first = mine.ranks[0];
    if (first >= 0 && s.rank() == first) {
      if (int code = draw_name(p, mine.name)) return code;
    }
    if (first >= 0) list_bcast(s, mine.name_part(), first);
    s.settle();
    list_swap(s, mine.name_part(), theirs.name_part());
    list_swap(s, mine.ranks_part(), theirs.ranks_part());
    return static_cast<int>(success);
  });
}

// Without members on both sides there is none (7.4.2).
int create_inter(Process& p, Comm& comm, const Group& group, Comm*& newcomm) {
  NewSide mine(*comm.group), theirs(*comm.remote);
  if (int code = exchange_sides(p, comm, group, mine, theirs)) return code;
  if (group.self == undefined || theirs.ranks[0] < 0) return success;
  Group* remote = new_group(*comm.group);
  for (std::int32_t rank : theirs.ranks) {
    if (rank >= 0) remote->members.push_back(comm.remote->world(rank));
  }
  newcomm = unnamed_comm(comm, copy_group(group), remote);
  newcomm->point = newcomm->is_lower() ? mine.name : theirs.name;
  open_contexts(p, *newcomm);
  return success;
}

}  // namespace

// Hints are not copied since MPI 4.0 (7.4.2).
int comm_dup(Process& p, Comm& comm, Comm*& newcomm) { return duplicate(p, comm, nullptr, "Comm_dup", newcomm); }

int comm_dup_with_info(Process& p, Comm& comm, Info* info, Comm*& newcomm) {
  return duplicate(p, comm, info, "Comm_dup_with_info", newcomm);
}

int comm_idup(Process& p, Comm& comm, Comm*& newcomm, Request*& request) {
  return start_duplicate(p, comm, nullptr, "Comm_idup", newcomm, request);
}

int comm_idup_with_info(Process& p, Comm& comm, Info* info, Comm*& newcomm, Request*& request) {
  return start_duplicate(p, comm, info, "Comm_idup_with_info", newcomm, request);
}

// Ranks outside of the group take no part; groups of different ranks may be disjoint.
int comm_create(Process& p, Comm& comm, Group& group, Comm*& newcomm) {
  if (int code = check_subgroup(p, comm, group)) return code;
  newcomm = nullptr;
  if (comm.is_inter()) return create_inter(p, comm, group, newcomm);
  if (group.self == undefined) return success;
  return make_comm(p, comm, copy_group(group), nullptr, "Comm_create", newcomm);
}

int comm_create_group(Process& p, Comm& comm, Group& group, int tag, Comm*& newcomm) {
  if (comm.is_inter()) return p.explain(err_comm, "MPI_Comm_create_group of an intercommunicator, which MPI does not allow");
  if (tag < 0) return p.explain(err_tag, fmt::format("tag {} is negative", tag));
  if (int code = check_subgroup(p, comm, group)) return code;
  newcomm = nullptr;
  if (group.self == undefined) return success;
  Comm* made = unnamed_comm(comm, copy_group(group));
  const int code = name_by_tag(p, creation_context(p, comm), MessageTag(tag), *made);
  if (code) release(made);
  else newcomm = made;
  return code;
}

}  // namespace hf::mpi
