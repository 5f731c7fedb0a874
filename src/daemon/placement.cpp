#include "daemon/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace hf::daemon {
namespace {

using Counts = std::vector<int>;

constexpr std::size_t hosts_named_max = 8;

std::string list_slots(const std::vector<Host>& hosts, const Counts& slots) {
  std::string out;
  for (std::size_t i = 0; i < std::min(hosts.size(), hosts_named_max); ++i) {
    out += fmt::format("{}{} {}", i > 0 ? ", " : "", hosts[i].name, slots[i]);
  }
  return out + (hosts.size() > hosts_named_max ? ", ..." : "");
}

// What each host takes before ranks share slots.
Counts slots_of(const std::vector<Host>& hosts, int rank_count, MapBy map_by) {
  Counts out;
  for (const Host& host : hosts) {
    const int unsaid = map_by.kind == MapBy::Kind::per_node ? map_by.count : 1;
    out.push_back(host.slots == slots_unlimited ? rank_count : host.slots == slots_not_said ? unsaid : host.slots);
  }
  return out;
}

// One rank to each in turn, as far as there is room.
std::vector<std::int32_t> deal(const Counts& room, int rank_count) {
  std::vector<std::int32_t> out;
  for (int round = 0; std::ssize(out) < rank_count; ++round) {
    const auto before = out.size();
    for (std::size_t i = 0; i < room.size() && std::ssize(out) < rank_count; ++i) {
      if (round < room[i]) out.push_back(static_cast<std::int32_t>(i));
    }
    if (out.size() == before) break;
  }
  return out;
}

Counts count(const std::vector<std::int32_t>& node_of_rank, std::size_t hosts) {
  Counts out(hosts);
  for (std::int32_t node : node_of_rank) ++out[static_cast<std::size_t>(node)];
  return out;
}

std::vector<std::int32_t> in_blocks(const Counts& counts) {
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < counts.size(); ++i) out.insert(out.end(), static_cast<std::size_t>(counts[i]), static_cast<std::int32_t>(i));
  return out;
}

Counts fill(const Counts& room, int rank_count) {
  Counts out;
  for (int slots : room) {
    out.push_back(std::min(slots, rank_count));
    rank_count -= out.back();
  }
  return out;
}

int sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0);
}

// Ranks beyond all slots, added in turn.
void add_rest(Counts& counts, int rank_count) {
  const int rest = rank_count - sum(counts);
  for (int i = 0; i < rest; ++i) ++counts[static_cast<std::size_t>(i) % counts.size()];
}

std::string plural(std::int64_t count, std::string_view what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); }

std::string too_few(std::size_t hosts, WithoutRanks without) {
  std::string wanted = "ranks";
  if (without.spares > 0) wanted += fmt::format("{} {}", without.event_loggers > 0 ? "," : " and", plural(without.spares, "spare node"));
  if (without.event_loggers > 0) wanted += fmt::format(" and {}", plural(without.event_loggers, "event logger"));
  return fmt::format("{} {} not enough for {}", plural(static_cast<std::int64_t>(hosts), "host"), hosts == 1 ? "is" : "are", wanted);
}

}  // namespace

int ranks_that_fill(const std::vector<Host>& hosts, MapBy map_by, WithoutRanks without) {
  std::int64_t total = 0;
  for (std::ptrdiff_t i = 0; i < std::ssize(hosts) - without.count(); ++i) {
    const int slots = hosts[static_cast<std::size_t>(i)].slots;
    const bool per_node = map_by.kind == MapBy::Kind::per_node;
    if (slots == slots_unlimited && !per_node) return 1;
    total += per_node ? map_by.count : std::max(1, slots);
  }
  return static_cast<int>(std::clamp<std::int64_t>(total, 1, INT32_MAX));
}

Result<Placement> place(std::vector<Host> hosts, int rank_count, MapBy map_by, bool oversubscribe, WithoutRanks without) {
  if (std::ssize(hosts) <= without.count()) return fail(too_few(hosts.size(), without));
  const std::vector<Host> all = hosts;
  hosts.resize(hosts.size() - static_cast<std::size_t>(without.count()));
  const Counts slots = slots_of(hosts, rank_count, map_by);
  Counts room = slots;
  if (map_by.kind == MapBy::Kind::per_node) {
    for (std::size_t i = 0; i < room.size(); ++i) {
      if (room[i] < map_by.count && !oversubscribe) {
        return fail(fmt::format("{} ranks are to be on each node, but {} has {} slot{}: say {}:{}, or --oversubscribe", map_by.count,
                                hosts[i].name, room[i], room[i] == 1 ? "" : "s", hosts[i].name, map_by.count));
      }
      room[i] = map_by.count;
    }
  }
  const std::int64_t total = std::accumulate(room.begin(), room.end(), std::int64_t{0});
  if (total < rank_count && !oversubscribe) {
    if (map_by.kind == MapBy::Kind::per_node) {
      return fail(fmt::format("{} ranks, but {} on each of {} node{} are {}: more nodes are needed, or --oversubscribe", rank_count,
                              map_by.count, hosts.size(), hosts.size() == 1 ? "" : "s", total));
    }
    return fail(fmt::format("{} ranks, but only {} slot{} ({}): give a host more, as in {}:{}, "
                            "or let ranks share cores with --oversubscribe",
                            rank_count, total, total == 1 ? "" : "s", list_slots(hosts, slots), hosts[0].name,
                            slots[0] + rank_count - total));
  }
  Placement out{all, static_cast<int>(hosts.size()), {}};
  const bool unlimited = hosts[0].slots == slots_unlimited;
  if (map_by.kind == MapBy::Kind::node) {
    out.node_of_rank = deal(room, rank_count);
    while (std::ssize(out.node_of_rank) < rank_count) {
      const auto beyond = static_cast<std::int32_t>((std::ssize(out.node_of_rank) - total) % std::ssize(hosts));
      out.node_of_rank.push_back(beyond);
    }
  } else {
    const bool evenly = unlimited && map_by.kind == MapBy::Kind::slot;
    Counts counts = evenly ? count(deal(room, rank_count), hosts.size()) : fill(room, rank_count);
    add_rest(counts, rank_count);
    out.node_of_rank = in_blocks(counts);
  }
  // Every host takes one rank before any is full, or the ones before it are: those without ranks come last.
  if (!unlimited) out.node_count = *std::ranges::max_element(out.node_of_rank) + 1;
  out.hosts.resize(static_cast<std::size_t>(out.node_count + without.count()));
  return out;
}

}  // namespace hf::daemon
