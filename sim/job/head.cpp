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
  const JobOptions& options = world_.options();
  if (!options.has_holders()) return;
  for (int node = 0; node < (options.optimistic() ? options.agents() : options.nodes); ++node) give_holders(NodeId(node));
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

bool Head::is_unsettled(NodeId node) const {
  const Agent& a = agents_[static_cast<std::size_t>(node.value)];
  const bool held = std::ranges::all_of(a.copies, [](const Copy& copy) { return copy.holder.value < 0 || copy.held; });
  return world_.options().on_nodes() && !held && !ranks_at(node).empty();
}

bool Head::settled() const {
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    if (!agents_[i].lost && is_unsettled(NodeId(static_cast<int>(i)))) return false;
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
  const std::uint64_t number = told_.add(rank, entry);
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    if (agents_[i].lost) continue;
    Node& node = world_.node(NodeId(static_cast<int>(i)));
    tell(node.id(), [&node, number, rank, entry] { node.hear(number, rank, entry); });
  }
}

// Ends of ranks are told together: each alone to each of a thousand nodes would be most of the run.
void Head::gather(Rank rank) {
  constexpr std::int64_t gathered_ns = 100'000;
  ended_.push_back(rank);
  if (ended_.size() > 1) return;
  world_.events().in(hosting_.size() > 1000 ? gathered_ns : 0, [this] {
    auto told = std::make_shared<std::map<Rank, BoardEntry>>();
    std::uint64_t last = 0;
    for (Rank rank : std::exchange(ended_, {})) {
      const Hosting& h = hosting(rank);
      const BoardEntry entry{h.incarnation, h.state, h.node, h.log_base};
      last = told_.add(rank, entry);
      told->insert_or_assign(rank, entry);
    }
    for (std::size_t i = 0; i < agents_.size(); ++i) {
      if (agents_[i].lost) continue;
      Node& node = world_.node(NodeId(static_cast<int>(i)));
      tell(node.id(), [&node, last, told] { node.hear_ends(last, *told); });
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

NodeId Head::holder_of(NodeId node, std::uint64_t choice) const {
  const Agent& a = agents_[static_cast<std::size_t>(node.value)];
  return a.copies.empty() ? NodeId(-1) : a.copies[choice % a.copies.size()].holder;
}

NodeId Head::choose_holder(NodeId node, const std::set<int>& not_these) const {
  std::vector<core::event_logger::HolderCandidate> candidates(agents_.size());
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    const NodeId number(static_cast<int>(i));
    candidates[i].usable = !agents_[i].lost;
    candidates[i].event_logger = world_.options().is_event_logger(number.value);
    candidates[i].machine = number.value;
  }
  for (const Hosting& h : hosting_) {
    const Agent& host = agents_[static_cast<std::size_t>(h.node.value)];
    if (h.node == node || host.lost) continue;
    for (const Copy& copy : host.copies) {
      if (copy.holder.value >= 0) ++candidates[static_cast<std::size_t>(copy.holder.value)].held;
    }
  }
  const auto joined = world_.options().optimistic() ? core::event_logger::Joined::tree : core::event_logger::Joined::ring;
  return NodeId(core::event_logger::choose_holder(candidates, node.value, not_these, joined));
}

std::set<int> Head::holders_of(NodeId node) const {
  std::set<int> out;
  for (const Copy& copy : agents_[static_cast<std::size_t>(node.value)].copies) {
    if (copy.holder.value >= 0) out.insert(copy.holder.value);
  }
  return out;
}

void Head::give_holders(NodeId node) {
  Agent& a = agent(node);
  a.copies.resize(world_.options().is_event_logger(node.value) ? 1 : static_cast<std::size_t>(world_.options().event_copies));
  for (std::size_t copy = 0; copy < a.copies.size(); ++copy) {
    if (a.copies[copy].holder.value < 0) give_holder(node, copy, NodeId(-1));
  }
}

void Head::give_holder(NodeId node, std::size_t number, NodeId not_this) {
  Agent& a = agent(node);
  a.copies[number].holder = NodeId(-1);
  std::set<int> not_these = holders_of(node);
  if (not_this.value >= 0) not_these.insert(not_this.value);
  a.generation = a.generation.next();
  Copy& copy = a.copies[number];
  copy = {choose_holder(node, not_these), a.generation, false};
  tell(node, [&n = world_.node(node), number, holder = copy.holder, generation = copy.generation] {
    n.set_holder(number, holder, generation);
  });
  if (!world_.options().on_nodes()) return;
  const std::set<int> holders = holders_of(node);
  for (Rank rank : ranks_at(node)) {
    Hosting& h = hosting(rank);
    if (holders.empty()) h.whole_from = a.generation.next();
    // From here on more is stable than those have who held before: what they have must not be taken for all.
    if (copy.holder.value < 0) {
      h.places.clear();
      for (int holder : holders) h.places.emplace_back(holder);
    } else if (std::ranges::find(h.places, copy.holder) == h.places.end()) {
      h.places.push_back(copy.holder);
    }
  }
}

// Whoever had its ranks' determinants before need not keep them, once all who are to have them do.
void Head::on_held(Node& from, Generation generation) {
  world_.events().in(world_.latency(false), [this, node = from.id(), generation] {
    Agent& a = agent(node);
    auto copy = std::ranges::find(a.copies, generation, &Copy::generation);
    if (a.lost || copy == a.copies.end() || copy->holder.value < 0) return;
    const std::vector<Rank> ranks = ranks_at(node);
    // Said before ranks were there that are being taken over, it is said again.
    copy->held = std::ranges::none_of(ranks, [this](Rank rank) { return hosting(rank).moving; });
    if (std::ranges::any_of(a.copies, [&](const Copy& c) { return &c != &*copy && c.holder.value >= 0 && !c.held; })) return;
    const std::set<int> holders = holders_of(node);
    for (Rank rank : ranks) {
      Hosting& h = hosting(rank);
      if (h.moving) continue;  // said before it was there
      h.whole_from = {};
      const std::vector<NodeId> before = std::exchange(h.places, {});
      for (int holder : holders) h.places.emplace_back(holder);
      for (NodeId place : before) {
        if (holders.contains(place.value) || lost(place)) continue;
        tell(place, [&n = world_.node(place), rank, term = h.term] { n.forget(rank, term); });
      }
    }
  });
}

// It can be asked for nobody's determinants any more.
void Head::lose_places(NodeId node) {
  for (Hosting& h : hosting_) {
    if (std::erase(h.places, node) > 0) h.whole_from = std::max(h.whole_from, whole_generation(agent(h.node)));
  }
}

// The first in which a holder of this agent's ranks has all that is stable: of those that are left the earliest, else the next one's.
Generation Head::whole_generation(const Agent& a) const {
  Generation first = a.generation.next();
  for (const Copy& copy : a.copies) {
    if (copy.holder.value >= 0 && !lost(copy.holder)) first = std::min(first, copy.generation);
  }
  return first;
}

// The same should a holder be gone of whom the head has not heard that: any, where no copy from before may be left; else the newest alone.
Generation Head::held_generation(const Agent& a) const {
  const bool all_held = std::ranges::all_of(a.copies, [](const Copy& copy) { return copy.holder.value < 0 || copy.held; });
  return all_held ? Generation{1} : a.generation;
}

// ---- nodes

void Head::lose(NodeId node) {
  Agent& gone = agent(node);
  if (std::exchange(gone.lost, true)) return;
  if (is_unsettled(node)) world_.on_taker_lost();
  lose_places(node);
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    if (agents_[i].lost) continue;
    for (std::size_t copy = 0; copy < agents_[i].copies.size(); ++copy) {
      if (agents_[i].copies[copy].holder == node) give_holder(NodeId(static_cast<int>(i)), copy, node);
    }
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
    const Generation held_from = held_generation(agent(h.node));
    h.node = to;
    h.incarnation = Incarnation(h.incarnation.value + restarts_max + 2);
    h.state = RankState::absent;
    h.log_base = Incarnation(h.incarnation.value - 1);
    h.term = h.term.next();
    h.group = adoption.group;
    h.moving = true;
    h.rolling = false;
    adoption.ranks.push_back({rank, h.incarnation, h.term, h.whole_from, held_from});
    if (h.whole_from != Generation{}) h.whole_from = Generation{1};
    for (NodeId place : h.places) {
      if (std::ranges::find(adoption.places, place) == adoption.places.end()) adoption.places.push_back(place);
    }
  }
  Agent& a = agent(to);
  for (Copy& copy : a.copies) copy.held = false;
  if (world_.options().has_holders()) give_holders(to);
  const std::set<int> holders = world_.options().on_nodes() ? holders_of(to) : std::set<int>();
  for (Rank rank : ranks) {
    Hosting& h = hosting(rank);
    for (int holder : holders) {
      if (std::ranges::find(h.places, NodeId(holder)) == h.places.end()) h.places.emplace_back(holder);
    }
  }
  tell(to, [&n = world_.node(to), adoption] { n.adopt(adoption); });
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
    if (!lost(node)) world_.end_by_rule("determinants were lost with several nodes");
  });
}

}  // namespace hf::sim::job
