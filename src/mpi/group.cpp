#include "mpi/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "mpi/api.hpp"
#include "mpi/predefined.hpp"
#include "mpi/process.hpp"
#include "mpi/session.hpp"

namespace hf::mpi {
namespace {

constexpr int ident = 201, similar = 203, unequal = 204;

// This process's job-wide rank, if it is a member of one of the groups. Only then it can be one of a group made of
// them.
std::optional<Rank> self_of(const Group& group) {
  if (group.self == undefined) return std::nullopt;
  return group.world(group.self);
}

// Of the session of `of`.
Group* make_group(const Group& of, std::vector<Rank> members, std::optional<Rank> self) {
  if (members.empty()) return retain(empty_group());
  auto* group = new Group(std::move(members), self);
  group->session = retain(of.session);
  return group;
}

int check_ranks(Process& p, const Group& group, std::span<const int> ranks) {
  std::vector<bool> seen(group.members.size());
  for (int rank : ranks) {
    if (rank < 0 || rank >= group.size()) {
      return p.explain(err_rank, fmt::format("rank {} is not in the group of {}", rank, group.size()));
    }
    if (seen[static_cast<std::size_t>(rank)]) return p.explain(err_rank, fmt::format("rank {} is named twice", rank));
    seen[static_cast<std::size_t>(rank)] = true;
  }
  return success;
}

// The ranks that the ranges (first, last, stride) name, in order. `last` need not be one of them.
int expand_ranges(Process& p, const Group& group, int n, int (*ranges)[3], std::vector<int>& ranks) {
  for (int i = 0; i < n; ++i) {
    const std::int64_t first = ranges[i][0], last = ranges[i][1], stride = ranges[i][2];
    if (stride == 0) return p.explain(err_arg, fmt::format("range {} has stride 0", i));
    for (std::int64_t rank = first; stride > 0 ? rank <= last : rank >= last; rank += stride) {
      if (rank < 0 || rank >= group.size()) {
        return p.explain(err_rank, fmt::format("range {}: rank {} is not in the group of {}", i, rank, group.size()));
      }
      ranks.push_back(static_cast<int>(rank));
    }
  }
  return check_ranks(p, group, ranks);
}

Group* included(const Group& group, std::span<const int> ranks) {
  std::vector<Rank> members;
  members.reserve(ranks.size());
  for (int rank : ranks) members.push_back(group.world(rank));
  return make_group(group, std::move(members), self_of(group));
}

Group* excluded(const Group& group, std::span<const int> ranks) {
  std::vector<bool> out(group.members.size());
  for (int rank : ranks) out[static_cast<std::size_t>(rank)] = true;
  std::vector<Rank> members;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i]) members.push_back(group.members[i]);
  }
  return make_group(group, std::move(members), self_of(group));
}

// The members of one group that are, or are not, in the other.
std::vector<Rank> filtered(const Group& group, const Group& other, bool in_other) {
  std::vector<Rank> members;
  for (Rank member : group.members) {
    if ((other.rank_of(member) != undefined) == in_other) members.push_back(member);
  }
  return members;
}

}  // namespace

Group::Group(std::vector<Rank> of, std::optional<Rank> this_process) : members(std::move(of)) {
  if (this_process) self = rank_of(*this_process);
}

Group::~Group() { release(session); }

Group* new_group(const Group& beside) {
  auto* group = new Group;
  group->session = retain(beside.session);
  return group;
}

int Group::rank_of(Rank world) const {
  const auto same = static_cast<std::size_t>(world.value);
  if (same < members.size() && members[same] == world) return world.value;
  if (members.size() <= 8) {
    auto it = std::ranges::find(members, world);
    return it == members.end() ? undefined : static_cast<int>(it - members.begin());
  }
  if (by_world_.size() != members.size()) {
    by_world_.resize(members.size());
    std::iota(by_world_.begin(), by_world_.end(), 0);
    std::ranges::sort(by_world_, {}, [this](int rank) { return this->world(rank); });
  }
  auto it = std::ranges::lower_bound(by_world_, world, {}, [this](int rank) { return this->world(rank); });
  return it != by_world_.end() && this->world(*it) == world ? *it : undefined;
}

Group* empty_group() {
  static Group group;
  group.predefined = true;
  return &group;
}

int group_size(Process&, Group& group, int& size) {
  size = group.size();
  return success;
}

int group_rank(Process&, Group& group, int& rank) {
  rank = group.self;
  return success;
}

int group_translate_ranks(Process& p, Group& group1, int n, const int* ranks1, Group& group2, int* ranks2) {
  for (int i = 0; i < n; ++i) {
    const int rank = ranks1[i];
    if (rank == proc_null) {
      ranks2[i] = proc_null;
    } else if (rank < 0 || rank >= group1.size()) {
      return p.explain(err_rank, fmt::format("rank {} is not in the group of {}", rank, group1.size()));
    } else {
      ranks2[i] = group2.rank_of(group1.world(rank));
    }
  }
  return success;
}

int group_compare(Process&, Group& group1, Group& group2, int& result) {
  result = unequal;
  if (group1.members == group2.members) {
    result = ident;
  } else if (group1.size() == group2.size() && filtered(group1, group2, false).empty()) {
    result = similar;
  }
  return success;
}

int group_union(Process&, Group& group1, Group& group2, Group*& newgroup) {
  std::vector<Rank> members = group1.members;
  const std::vector<Rank> more = filtered(group2, group1, false);
  members.insert(members.end(), more.begin(), more.end());
  newgroup = make_group(group1.session ? group1 : group2, std::move(members), self_of(group1.self != undefined ? group1 : group2));
  return success;
}

int group_intersection(Process&, Group& group1, Group& group2, Group*& newgroup) {
  newgroup = make_group(group1, filtered(group1, group2, true), self_of(group1));
  return success;
}

int group_difference(Process&, Group& group1, Group& group2, Group*& newgroup) {
  newgroup = make_group(group1, filtered(group1, group2, false), self_of(group1));
  return success;
}

int group_incl(Process& p, Group& group, int n, const int* ranks, Group*& newgroup) {
  const std::span<const int> wanted(ranks, static_cast<std::size_t>(n));
  if (int code = check_ranks(p, group, wanted)) return code;
  newgroup = included(group, wanted);
  return success;
}

int group_excl(Process& p, Group& group, int n, const int* ranks, Group*& newgroup) {
  const std::span<const int> unwanted(ranks, static_cast<std::size_t>(n));
  if (int code = check_ranks(p, group, unwanted)) return code;
  newgroup = excluded(group, unwanted);
  return success;
}

int group_range_incl(Process& p, Group& group, int n, int (*ranges)[3], Group*& newgroup) {
  std::vector<int> ranks;
  if (int code = expand_ranges(p, group, n, ranges, ranks)) return code;
  newgroup = included(group, ranks);
  return success;
}

int group_range_excl(Process& p, Group& group, int n, int (*ranges)[3], Group*& newgroup) {
  std::vector<int> ranks;
  if (int code = expand_ranges(p, group, n, ranges, ranks)) return code;
  newgroup = excluded(group, ranks);
  return success;
}

// MPI_GROUP_EMPTY too: functions give it as the result of what selects nobody.
int group_free(Process&, Group*& group) {
  release(group);
  group = nullptr;
  return success;
}

}  // namespace hf::mpi
