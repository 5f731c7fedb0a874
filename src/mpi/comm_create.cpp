// Making communicators (MPI 5.0, 7.4.2). A new communicator is named by the process that is rank 0 of its group, with that
// process's next creation number, drawn when the call is made; the members hear of it in ordinary messages (design rule 1,
// docs/contexts.md).
#include <fmt/format.h>

#include <algorithm>

#include "mpi/api.hpp"
#include "mpi/coll/algorithms.hpp"
#include "mpi/coll/run.hpp"
#include "mpi/comm_hints.hpp"
#include "mpi/comm_make.hpp"
#include "mpi/process.hpp"

namespace hf::mpi {
namespace {

constexpr int type_shared = 221, type_hw_unguided = 222, type_hw_guided = 223, type_resource_guided = 224;
constexpr std::string_view resource_key = "mpi_hw_resource_type", resource_shared = "mpi_shared_memory";

// What a duplicate gets at the call: attributes through their copy functions, the error handler, and these hints, if any.
int copy_for_dup(Process& p, Comm& comm, const Info* hints, Comm*& made) {
  Comm* copy = unnamed_comm(comm, copy_group(*comm.group), copy_group(comm.remote));
  if (int code = copy_attributes(p, comm, *copy)) {
    release(copy);
    return code;
  }
  if (hints) add_comm_hints(*copy, *hints);
  made = copy;
  return success;
}

// Of an intercommunicator both groups hear of the name.
int list_duplicate(Process& p, Schedule& s, Comm& made) {
  if (made.is_inter()) s.among(both_groups(made));
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

// The name goes down a binomial tree of the members, in messages matched by the program's tag.
int name_by_tag(Process& p, Comm& comm, int tag, Comm& made) {
  const Context context = creation_context(p, comm);
  const int size = made.size(), self = made.rank();
  int low = 1;
  while (low < size && !(self & low)) low *= 2;
  if (self == 0) {
    if (int code = draw_name(p, made.point)) return code;
  } else {
    engine::RecvOperation op;
    auto* into = reinterpret_cast<std::byte*>(&made.point);
    p.engine->recv(op, context, made.world(self - low), MessageTag(tag), {into, sizeof made.point});
    p.engine->wait([&] { return op.done(); });
  }
  for (int bit = low / 2; bit > 0; bit /= 2) {
    if (self + bit >= size) continue;
    engine::SendOperation op;
    auto* from = reinterpret_cast<const std::byte*>(&made.point);
    p.engine->send(op, context, made.world(self + bit), MessageTag(tag), {from, sizeof made.point},
                   engine::SendMode::standard);
    if (!op.done()) p.engine->wait([&] { return op.done(); });
  }
  open_contexts(p, made);
  return success;
}

// What each rank tells the others in a split.
struct Choice {
  int color = undefined;
  int key = 0;
  Context point;  // the name that the new communicator has if this rank becomes its rank 0
};

int split_by(Process& p, Comm& comm, int color, int key, const char* name, Comm*& newcomm) {
  const int size = comm.size();
  std::vector<Choice> choices(static_cast<std::size_t>(size));
  Choice& mine = choices[static_cast<std::size_t>(comm.rank())];
  mine = {color, key, {}};
  if (color != undefined) {
    if (int code = draw_name(p, mine.point)) return code;
  }
  const int code = run_collective(p, comm, name, [&](Schedule& s) {
    auto* blocks = s.array<Part>(size);
    for (int i = 0; i < size; ++i) blocks[i] = Part::raw(&choices[static_cast<std::size_t>(i)], sizeof(Choice));
    list_allgather(s, nullptr, blocks);
    return success;
  });
  if (code || color == undefined) return code;
  std::vector<int> members;
  for (int i = 0; i < size; ++i) {
    if (choices[static_cast<std::size_t>(i)].color == color) members.push_back(i);
  }
  std::ranges::stable_sort(members, {}, [&](int i) { return choices[static_cast<std::size_t>(i)].key; });
  auto* group = new Group;
  for (int i : members) {
    if (i == comm.rank()) group->self = group->size();
    group->members.push_back(comm.world(i));
  }
  newcomm = unnamed_comm(comm, group);
  newcomm->point = choices[static_cast<std::size_t>(members.front())].point;
  open_contexts(p, *newcomm);
  return success;
}

bool asks_for_shared_memory(const Info* info) {
  if (!info) return false;
  return std::ranges::any_of(info->entries, [](const auto& e) { return e.first == resource_key && e.second == resource_shared; });
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
  if (group.self == undefined) return success;
  Comm* made = unnamed_comm(comm, copy_group(group));
  Schedule schedule(p, comm, "Comm_create", *made->group);
  int code = list_naming(p, schedule, *made);
  if (!code) code = schedule.run();
  if (code) release(made);
  else newcomm = made;
  return code;
}

int comm_create_group(Process& p, Comm& comm, Group& group, int tag, Comm*& newcomm) {
  if (tag < 0) return p.explain(err_tag, fmt::format("tag {} is negative", tag));
  if (int code = check_subgroup(p, comm, group)) return code;
  newcomm = nullptr;
  if (group.self == undefined) return success;
  Comm* made = unnamed_comm(comm, copy_group(group));
  const int code = name_by_tag(p, comm, tag, *made);
  if (code) release(made);
  else newcomm = made;
  return code;
}

int comm_split(Process& p, Comm& comm, int color, int key, Comm*& newcomm) {
  newcomm = nullptr;
  if (color < 0 && color != undefined) {
    return p.explain(err_arg, fmt::format("color {} is negative: it must be at least 0, or MPI_UNDEFINED", color));
  }
  return split_by(p, comm, color, key, "Comm_split", newcomm);
}

// By the job's original map, also after a rank has moved (design rule 1). Nodes are the only hardware resource known.
int comm_split_type(Process& p, Comm& comm, int split_type, int key, Info* info, Comm*& newcomm) {
  newcomm = nullptr;
  const engine::JobMap& job = p.engine->job();
  auto node_of = [&](Rank rank) { return job.node_of.empty() ? job.node : job.node_of[static_cast<std::size_t>(rank.value)]; };
  const auto& members = comm.group->members;
  const bool several = std::ranges::any_of(members, [&](Rank rank) { return node_of(rank) != node_of(members.front()); });
  bool split = false;
  switch (split_type) {
    case undefined: break;
    case type_shared: split = true; break;
    case type_hw_guided:
    case type_resource_guided: split = asks_for_shared_memory(info); break;
    case type_hw_unguided: split = several; break;  // the new one must be smaller
    default: return p.explain(err_arg, fmt::format("split type {} is not one of MPI_COMM_TYPE_...", split_type));
  }
  const int color = split ? node_of(job.self).value : undefined;
  if (int code = split_by(p, comm, color, key, "Comm_split_type", newcomm)) return code;
  if (split_type == type_hw_unguided && newcomm && info) {
    auto it = std::ranges::find(info->entries, resource_key, [](const auto& entry) { return entry.first; });
    if (it == info->entries.end()) info->entries.emplace_back(resource_key, resource_shared);
    else it->second = resource_shared;
  }
  return success;
}

}  // namespace hf::mpi
