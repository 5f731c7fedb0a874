#include "core/event_logger/sharding.hpp"

#include <tuple>

namespace hf::core::event_logger {
namespace {

// The smallest of those that `may` lets pass, by (same machine, `weight`, distance behind `agent`).
template <class May, class Weight>
int least(std::span<const HolderCandidate> agents, int agent, May may, Weight weight) {
  const int n = static_cast<int>(agents.size());
  const int machine = agents[static_cast<std::size_t>(agent)].machine;
  int best = -1;
  std::tuple<bool, std::uint64_t> best_merit;
  for (int step = 1; step < n; ++step) {
    const int other = (agent + step) % n;
    const HolderCandidate& candidate = agents[static_cast<std::size_t>(other)];
    if (!candidate.usable || !may(other, candidate)) continue;
    const std::tuple merit(candidate.machine == machine, weight(candidate));
    if (best >= 0 && best_merit <= merit) continue;
    best = other;
    best_merit = merit;
  }
  return best;
}

// The nearest that can be of those on the way to the root of a binary tree, else the first that can be; on another machine, if anybody is. -1: none, as
// for the root.
template <class May>
int above(std::span<const HolderCandidate> agents, int agent, May may) {
  const int machine = agents[static_cast<std::size_t>(agent)].machine;
  bool apart = false;
  auto can_be = [&](int other) {
    const HolderCandidate& candidate = agents[static_cast<std::size_t>(other)];
    return candidate.usable && may(other, candidate) && !(apart && candidate.machine == machine);
  };
  for (int other = 0; other < static_cast<int>(agents.size()) && !apart; ++other) {
    apart = agents[static_cast<std::size_t>(other)].machine != machine && can_be(other);
  }
  for (int other = agent; other > 0;) {
    other = (other - 1) / 2;
    if (can_be(other)) return other;
  }
  for (int other = 0; other < agent; ++other) {
    if (can_be(other)) return other;
  }
  return -1;
}

}  // namespace

int choose_holder(std::span<const HolderCandidate> agents, int agent, const std::set<int>& not_these, Joined joined) {
  auto wanted = [&](int other) {
#ifdef HOLDFAST_MUTATE_FULL_AGAIN
    return other != (not_these.empty() ? -1 : *not_these.rbegin());
#endif
    return !not_these.contains(other);
  };
  auto no_weight = [](const HolderCandidate&) { return std::uint64_t{0}; };
  if (agents[static_cast<std::size_t>(agent)].event_logger) {
#ifdef HOLDFAST_MUTATE_LOGGERS_APART
    return -1;
#endif
    return least(agents, agent, [&](int other, const HolderCandidate& c) { return c.event_logger && wanted(other); }, no_weight);
  }
  auto held = [](const HolderCandidate& c) {
#ifdef HOLDFAST_MUTATE_ONE_SHARD
    return std::uint64_t{0} * c.held;
#endif
    return c.held;
  };
  const int logger = least(agents, agent, [&](int other, const HolderCandidate& c) { return c.event_logger && wanted(other); }, held);
  if (logger >= 0) return logger;
  auto is_node = [&](int other, const HolderCandidate& c) { return !c.event_logger && wanted(other); };
  const int in_tree = joined == Joined::tree && agents.size() >= tree_from ? above(agents, agent, is_node) : -1;
  return in_tree >= 0 ? in_tree : least(agents, agent, is_node, no_weight);
}

}  // namespace hf::core::event_logger
