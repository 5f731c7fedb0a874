#include "sim/job/head.hpp"

#include <algorithm>

#include "core/event_logger/sharding.hpp"
#include "sim/job/world.hpp"

namespace hf::sim::job {
namespace {

constexpr std::uint32_t restarts_max = 1000;

}  // namespace

Head::Head(World& world) : world_(world) {
  const JobOptions& options = world.options();
  agents_.resize(static_cast<std::size_t>(options.agents()));
  for (int rank = 0; rank < options.ranks; ++rank) hosting_.push_back({.node = world.original(Rank(rank)).node});
}

void Head::begin() {
  if (!world_.options().node_level) return;
  const JobOptions& options = world_.options();
  for (int node = 0; node < (options.optimistic() ? options.agents() : options.nodes); ++node) give_holder(NodeId(node));
}

// In the order said, each a little later.
template <class Action>
void Head::tell(NodeId number, Action action) {
  Node& node = world_.node(number);
  world_.at_node(node, world_.latency_in_order(node.control_last()), std::move(action));
}

Rank Head::any_rank_of(NodeId node) const {
  const std::vector<Rank> ranks = ranks_at(node);
  return ranks.empty() ? Rank(0) : ranks.front();
}

bool Head::settled() const {
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    if (!agents_[i].lost && !agents_[i].held && !ranks_at(NodeId(static_cast<int>(i))).empty()) return false;
  }
  return std::ranges::none_of(hosting_, [](const Hosting& h) { return h.moving || h.rolling; });
}

std::vector<Rank> Head::ranks_at(NodeId node) const {
  std::vector<Rank> out;
  for (std::size_t i = 0; i < hosting_.size(); ++i) {
    if (hosting_[i].node == node) out.emplace_back(static_cast<int>(i));
  }
  return out;
}

void Head::broadcast(Rank rank) {
  const Hosting& h = hosting(rank);
  const BoardEntry entry{h.incarnation, h.state, h.node, h.log_base};
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    if (agents_[i].lost) continue;
    Node& node = world_.node(NodeId(static_cast<int>(i)));
    tell(node.id(), [&node, rank, entry] { node.on_board(rank, entry); });
  }
}

// Ends of ranks are told together: each alone to each of a thousand nodes would be most of the run.
void Head::gather(Rank rank) {
  constexpr std::int64_t gathered_ns = 100'000;
  ended_.push_back(rank);
  if (ended_.size() > 1) return;
  world_.events().in(hosting_.size() > 1000 ? gathered_ns : 0, [this] {
    auto told = std::make_shared<std::vector<std::pair<Rank, BoardEntry>>>();
    for (Rank rank : std::exchange(ended_, {})) {
      const Hosting& h = hosting(rank);
      told->push_back({rank, {h.incarnation, h.state, h.node, h.log_base}});
    }
    for (std::size_t i = 0; i < agents_.size(); ++i) {
      if (agents_[i].lost) continue;
      Node& node = world_.node(NodeId(static_cast<int>(i)));
      tell(node.id(), [&node, told] {
        for (const auto& [rank, entry] : *told) node.on_board(rank, entry);
      });
    }
  });
}

void Head::report(Node& from, Rank rank, const BoardEntry& entry) {
  world_.events().in(world_.latency(false), [this, node = from.id(), rank, entry] {
    Hosting& h = hosting(rank);
    const bool stale = entry.incarnation < h.incarnation || (entry.incarnation == h.incarnation && entry.state <= h.state);
    if (lost(node) || h.node != node || (stale && !h.moving)) return;
    h.rolling &= entry.incarnation < h.incarnation;
    h.incarnation = entry.incarnation;
    h.log_base = entry.log_base;
    if (entry.state == RankState::finished && h.state != RankState::finished) ++finished_;
    h.state = entry.state;
    if (h.state == RankState::finished) return gather(rank);
    broadcast(rank);
  });
}

// ---- determinants

NodeId Head::choose_holder(NodeId node) const {
  std::vector<core::event_logger::HolderCandidate> candidates(agents_.size());
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    const NodeId number(static_cast<int>(i));
    candidates[i].usable = !agents_[i].lost;
    candidates[i].event_logger = world_.options().is_event_logger(number.value);
    candidates[i].machine = number.value;
  }
  for (const Hosting& h : hosting_) {
    const Agent& host = agents_[static_cast<std::size_t>(h.node.value)];
    if (h.node != node && !host.lost && host.holder.value >= 0) ++candidates[static_cast<std::size_t>(host.holder.value)].held;
  }
  return NodeId(core::event_logger::choose_holder(candidates, node.value, {}));
}

void Head::give_holder(NodeId node) {
  Agent& a = agent(node);
  a.holder = choose_holder(node);
  a.generation = a.generation.next();
  a.held = false;
  tell(node, [&n = world_.node(node), holder = a.holder, generation = a.generation] { n.set_holder(holder, generation); });
  for (Rank rank : ranks_at(node)) {
    Hosting& h = hosting(rank);
    if (a.holder.value < 0) h.whole_from = a.generation.next();
    else if (std::ranges::find(h.places, a.holder) == h.places.end()) h.places.push_back(a.holder);
  }
}

void Head::on_held(Node& from, Generation generation) {
  world_.events().in(world_.latency(false), [this, node = from.id(), generation] {
    Agent& a = agent(node);
    if (a.lost || generation != a.generation || a.holder.value < 0) return;
    bool moving = false;
    for (Rank rank : ranks_at(node)) {
      Hosting& h = hosting(rank);
      moving |= h.moving;
      if (h.moving) continue;  // said before it was there
      h.whole_from = {};
      for (NodeId place : std::exchange(h.places, {a.holder})) {
        if (place == a.holder || lost(place)) continue;
        tell(place, [&n = world_.node(place), rank, term = h.term] { n.forget(rank, term); });
      }
    }
    a.held = !moving;
  });
}

// ---- nodes

void Head::lose(NodeId node) {
  Agent& gone = agent(node);
  if (std::exchange(gone.lost, true)) return;
  for (Hosting& h : hosting_) {
    if (std::erase(h.places, node) == 0) continue;
    const Agent& host = agent(h.node);
    h.whole_from = std::max(h.whole_from, host.holder == node ? host.generation.next() : host.generation);
  }
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    if (!agents_[i].lost && agents_[i].holder == node) give_holder(NodeId(static_cast<int>(i)));
  }
  const std::vector<Rank> ranks = ranks_at(node);
  for (Rank rank : ranks) {
    Hosting& h = hosting(rank);
    if (h.state == RankState::finished) --finished_;
    h.state = RankState::dead;
    world_.checker().on_node_lost(rank);
    broadcast(rank);
  }
  if (ranks.empty()) return;
  std::vector<int> load(agents_.size());
  for (const Hosting& h : hosting_) ++load[static_cast<std::size_t>(h.node.value)];
  NodeId spare{-1};
  const int hosts = world_.options().nodes + world_.options().spares;
  for (int i = world_.options().nodes; i < hosts; ++i) {
    if (spare.value < 0 && !lost(NodeId(i)) && load[static_cast<std::size_t>(i)] == 0) spare = NodeId(i);
  }
  std::map<NodeId, std::vector<Rank>> targets;
  for (Rank rank : ranks) {
    NodeId best = spare;
    for (int i = 0; spare.value < 0 && i < hosts; ++i) {
      const bool fewer = best.value < 0 || load[static_cast<std::size_t>(i)] < load[static_cast<std::size_t>(best.value)];
      if (!lost(NodeId(i)) && fewer) best = NodeId(i);
    }
    if (best.value < 0) return world_.end_by_rule("no node is left");
    ++load[static_cast<std::size_t>(best.value)];
    targets[best].push_back(rank);
  }
  for (const auto& [target, some] : targets) move(some, target);
}

void Head::move(const std::vector<Rank>& ranks, NodeId to) {
  Adoption adoption{.group = ++groups_};
  for (Rank rank : ranks) {
    Hosting& h = hosting(rank);
    h.node = to;
    h.incarnation = Incarnation(h.incarnation.value + restarts_max + 2);
    h.state = RankState::absent;
    h.log_base = Incarnation(h.incarnation.value - 1);
    h.term = h.term.next();
    h.group = adoption.group;
    h.moving = true;
    h.rolling = false;
    adoption.ranks.push_back({rank, h.incarnation, h.term, h.whole_from});
    if (h.whole_from != Generation{}) h.whole_from = Generation{1};
    for (NodeId place : h.places) {
      if (std::ranges::find(adoption.places, place) == adoption.places.end()) adoption.places.push_back(place);
    }
  }
  Agent& a = agent(to);
  a.held = false;
  tell(to, [&n = world_.node(to), adoption] { n.adopt(adoption); });
  if (a.holder.value < 0) give_holder(to);
  for (Rank rank : ranks) {
    Hosting& h = hosting(rank);
    if (a.holder.value >= 0 && std::ranges::find(h.places, a.holder) == h.places.end()) h.places.push_back(a.holder);
  }
}

void Head::on_adopted(Node& from, std::uint64_t group) {
  world_.events().in(world_.latency(false), [this, node = from.id(), group] {
    for (Hosting& h : hosting_) {
      if (h.group == group && h.node == node) h.moving = false;
    }
  });
}

// ---- cuts

// Everybody hears of a cut before anything of its term, from the head, in one order.
void Head::tell_cut(Rank rank, Term term, std::uint64_t position) {
  world_.checker().on_cut(rank, term, position);
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    if (agents_[i].lost) continue;
    Node& node = world_.node(NodeId(static_cast<int>(i)));
    tell(node.id(), [&node, rank, term, position] { node.on_cut(rank, term, position); });
  }
}

void Head::on_proposed(Node& from, const Adoption& adoption, std::vector<std::uint64_t> positions) {
  world_.events().in(world_.latency(false), [this, node = from.id(), adoption, positions = std::move(positions)] {
    if (lost(node)) return;
    for (std::size_t i = 0; i < positions.size(); ++i) tell_cut(adoption.ranks[i].rank, adoption.ranks[i].term, positions[i]);
    tell(node, [&n = world_.node(node), group = adoption.group] { n.begin(group); });
  });
}

void Head::on_orphan(Node& from, Rank rank, Incarnation incarnation, Term term, std::uint64_t cut) {
  world_.events().in(world_.latency(false), [this, node = from.id(), rank, incarnation, term, cut] {
    Hosting& h = hosting(rank);
    if (lost(node) || h.node != node || h.term != term) return;
    if (h.state == RankState::finished) --finished_;
    h.incarnation = std::max(h.incarnation, incarnation);
    h.state = RankState::dead;
    broadcast(rank);
    // Two above: the one between names the log that is kept.
    h.incarnation = h.incarnation.next().next();
    h.state = RankState::absent;
    h.log_base = Incarnation(h.incarnation.value - 1);
    h.term = h.term.next();
    h.rolling = true;
    tell_cut(rank, h.term, cut);
    tell(node, [&n = world_.node(node), rank, term = h.term, next = h.incarnation, cut] { n.roll_back(rank, term, next, cut); });
  });
}

void Head::on_adopt_failed(Node& from) {
  world_.events().in(world_.latency(false), [this, node = from.id()] {
    if (!lost(node)) world_.end_by_rule("determinants were lost with two nodes");
  });
}

}  // namespace hf::sim::job
