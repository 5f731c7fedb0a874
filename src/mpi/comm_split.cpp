// Splitting communicators (MPI 5.0, 7.4.2). Who will be rank 0 of a new group is not known beforehand: every process that
// wants a new communicator draws a name for it (docs/contexts.md).
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "mpi/api.hpp"
#include "mpi/coll/algorithms.hpp"
#include "mpi/coll/run.hpp"
#include "mpi/comm_make.hpp"
#include "mpi/process.hpp"
#include "mpi/session.hpp"

namespace hf::mpi {
namespace {

constexpr int type_shared = 221, type_hw_unguided = 222, type_hw_guided = 223, type_resource_guided = 224;
constexpr std::string_view hardware_key = "mpi_hw_resource_type", shared_memory = "mpi_shared_memory";
constexpr std::string_view process_set_key = "mpi_pset_name";

// What each rank tells the others in a split.
struct Choice {
  int color = undefined;
  int key = 0;
  Context point;  // the name that the new communicator has if this rank becomes its rank 0
};

// A new group, and the name that its rank 0 has drawn.
struct NewGroup {
  Group* group = nullptr;  // null: nobody has the color
  Context point;
};

// The ranks of `old` with this color, in order of their keys; `choices` is of old's ranks.
NewGroup pick(const Group& old, std::span<const Choice> choices, int color) {
  std::vector<int> members;
  for (int i = 0; i < old.size(); ++i) {
    if (choices[static_cast<std::size_t>(i)].color == color) members.push_back(i);
  }
  if (members.empty()) return {};
  std::ranges::stable_sort(members, {}, [&](int i) { return choices[static_cast<std::size_t>(i)].key; });
  Group* group = new_group(old);
  for (int i : members) {
    if (i == old.self) group->self = group->size();
    group->members.push_back(old.world(i));
  }
  return {group, choices[static_cast<std::size_t>(members.front())].point};
}

// Everybody hears of everybody's choice, of both groups.
int choose(Process& p, Comm& comm, const char* name, const Choice& mine, std::vector<Choice>& choices) {
  return run_collective(p, comm, name, [&](Schedule& s) {
    if (comm.is_inter()) s.among_both_groups();
    choices.resize(static_cast<std::size_t>(s.size()));
    choices[static_cast<std::size_t>(s.rank())] = mine;
    auto* blocks = s.array<Part>(s.size());
    for (int i = 0; i < s.size(); ++i) blocks[i] = Part::raw(&choices[static_cast<std::size_t>(i)], sizeof(Choice));
    list_allgather(s, nullptr, blocks);
    return success;
  });
}

int split_by(Process& p, Comm& comm, int color, int key, const char* name, Comm*& newcomm) {
  Choice mine{color, key, {}};
  if (color != undefined) {
    if (int code = draw_name(p, mine.point)) return code;
  }
  std::vector<Choice> choices;
  const int code = choose(p, comm, name, mine, choices);
  if (code || color == undefined) return code;
  std::span<const Choice> local = choices, remote;
  if (comm.is_inter()) {
    const auto size = comm.group->members.size(), other = comm.remote->members.size();
    local = std::span(choices).subspan(comm.is_lower() ? 0 : other, size);
    remote = std::span(choices).subspan(comm.is_lower() ? size : 0, other);
  }
  const NewGroup here = pick(*comm.group, local, color);
  const NewGroup there = comm.is_inter() ? pick(*comm.remote, remote, color) : NewGroup{};
  if (comm.is_inter() && !there.group) {
    release(here.group);
    return success;
  }
  newcomm = unnamed_comm(comm, here.group, there.group);
  newcomm->point = !there.group || newcomm->is_lower() ? here.point : there.point;
  open_contexts(p, *newcomm);
  return success;
}

const std::string* hint(const Info* info, std::string_view key) { return info ? info->find(key) : nullptr; }

// The nodes of the job's original map, which are the same after a rank has moved (design rule 1): no other hardware is known.
int node_of(const Process& p, Rank rank) {
  const engine::JobMap& job = p.engine->job();
  return (job.node_of.empty() ? job.node : job.node_of[static_cast<std::size_t>(rank.value)]).value;
}

bool has_several_nodes(const Process& p, const Comm& comm) {
  const int first = node_of(p, comm.group->world(0));
  auto elsewhere = [&](Rank rank) { return node_of(p, rank) != first; };
  return std::ranges::any_of(comm.group->members, elsewhere) || std::ranges::any_of(comm.peers().members, elsewhere);
}

// By the resource that the hints name; without one that is known, in no communicator.
int color_by_resource(const Process& p, const Info* info, bool sets) {
  const std::string* hardware = hint(info, hardware_key);
  const Rank self = p.engine->job().self;
  if (hardware) return *hardware == shared_memory ? node_of(p, self) : undefined;
  const std::string* set = sets ? hint(info, process_set_key) : nullptr;
  if (set && names_set(*set, world_set)) return 0;
  if (set && names_set(*set, self_set)) return self.value;
  return undefined;
}

// Nothing: not one of MPI_COMM_TYPE_....
std::optional<int> color_by_type(const Process& p, const Comm& comm, int split_type, const Info* info) {
  const int node = node_of(p, p.engine->job().self);
  switch (split_type) {
    case undefined: return undefined;
    case type_shared: return node;
    case type_hw_guided: return color_by_resource(p, info, false);
    case type_resource_guided: return color_by_resource(p, info, true);
    case type_hw_unguided: return has_several_nodes(p, comm) ? node : undefined;  // the new one must be smaller
    default: return std::nullopt;
  }
}

}  // namespace

int comm_split(Process& p, Comm& comm, int color, int key, Comm*& newcomm) {
  newcomm = nullptr;
  if (color < 0 && color != undefined) {
    return p.explain(err_arg, fmt::format("color {} is negative: it must be at least 0, or MPI_UNDEFINED", color));
  }
  return split_by(p, comm, color, key, "Comm_split", newcomm);
}

int comm_split_type(Process& p, Comm& comm, int split_type, int key, Info* info, Comm*& newcomm) {
  newcomm = nullptr;
  const std::optional<int> color = color_by_type(p, comm, split_type, info);
  if (!color) return p.explain(err_arg, fmt::format("split type {} is not one of MPI_COMM_TYPE_...", split_type));
  if (int code = split_by(p, comm, *color, key, "Comm_split_type", newcomm)) return code;
  if (split_type == type_hw_unguided && newcomm && info) info->set(hardware_key, shared_memory);
  return success;
}

}  // namespace hf::mpi
