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

template <class Action>
void Head::hear(Node& from, Action action) {
  world_.events().in(world_.latency_in_order(from.said_last()), std::move(action));
}

Rank Head::any_rank_of(NodeId node) const {
  const std::vector<Rank> ranks = ranks_at(node);
  return ranks.empty() ? Rank(0) : ranks.front();
}

bool Head::is_unsettled(NodeId node) const {
  const Agent& a = agents_[static_cast<std::size_t>(node.value)];
  return world_.options().on_nodes() && !a.held.all_held() && !ranks_at(node).empty();
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
  hear(from, [this, node = from.id(), rank, entry] {
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
  return NodeId(a.held.copies.empty() ? -1 : a.held.copies[choice % a.held.copies.size()].holder);
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
    for (int holder : host.held.holders()) ++candidates[static_cast<std::size_t>(holder)].held;
  }
  const auto joined = world_.options().optimistic() ? core::event_logger::Joined::tree : core::event_logger::Joined::ring;
  return NodeId(core::event_logger::choose_holder(candidates, node.value, not_these, joined));
}

void Head::give_holders(NodeId node) {
  std::vector<Copy>& copies = agent(node).held.copies;
  copies.resize(world_.options().is_event_logger(node.value) ? 1 : static_cast<std::size_t>(world_.options().event_copies));
  for (std::size_t copy = 0; copy < copies.size(); ++copy) {
    if (copies[copy].holder < 0) give_holder(node, copy, NodeId(-1));
  }
}

void Head::give_holder(NodeId node, std::size_t number, NodeId not_this) {
  core::event_logger::Holding& held = agent(node).held;
  held.copies[number].holder = -1;
  std::set<int> not_these = held.holders();
  if (not_this.value >= 0) not_these.insert(not_this.value);
  held.generation = held.generation.next();
  Copy& copy = held.copies[number];
  copy = {choose_holder(node, not_these).value, held.generation, false};
  tell(node, [&n = world_.node(node), number, holder = NodeId(copy.holder), generation = copy.generation] {
    n.set_holder(number, holder, generation);
  });
  if (!world_.options().on_nodes()) return;
  for (Rank rank : ranks_at(node)) {
    if (copy.holder < 0) hosting(rank).places.only(held.holders());
    else hosting(rank).places.add(copy.holder);
  }
  if (copy.holder < 0) settle_held(node);
}

void Head::on_held(Node& from, Generation generation) {
  hear(from, [this, node = from.id(), generation] {
    Agent& a = agent(node);
    auto copy = std::ranges::find(a.held.copies, generation, &Copy::generation);
    if (a.lost || copy == a.held.copies.end() || copy->holder < 0) return;
    // Said before ranks were there that are being taken over, it is said again.
    copy->held = std::ranges::none_of(ranks_at(node), [this](Rank rank) { return hosting(rank).moving; });
    settle_held(node);
  });
}

// Where no other is left the same one is named again. (A real agent then has no holder, and hears of what is stable from its standby.)
void Head::on_holder_lost(Node& from, Generation generation) {
  hear(from, [this, node = from.id(), generation] {
    Agent& a = agent(node);
    const auto copy = std::ranges::find(a.held.copies, generation, &Copy::generation);
    if (a.lost || copy == a.held.copies.end() || copy->holder < 0) return;
    const NodeId other = choose_holder(node, a.held.holders());
    give_holder(node, static_cast<std::size_t>(copy - a.held.copies.begin()), other.value < 0 ? other : NodeId(copy->holder));
  });
}

// Whoever had its ranks' determinants before need not keep them, once all who are to have them do.
void Head::settle_held(NodeId node) {
  const core::event_logger::Holding& held = agent(node).held;
  if (!held.all_held()) return;
  for (Rank rank : ranks_at(node)) {
    Hosting& h = hosting(rank);
    if (h.moving) continue;  // said before it was there
    for (int place : h.places.settle(node.value, held.holders())) {
      if (lost(NodeId(place))) continue;
      tell(NodeId(place), [&n = world_.node(NodeId(place)), rank, term = h.term] { n.forget(rank, term); });
    }
    tell(node, [&n = world_.node(node), rank] { n.on_settled(rank); });
  }
}

// It can be asked for nobody's determinants any more.
void Head::lose_places(NodeId node) {
  for (Hosting& h : hosting_) h.places.lose(node.value);
}

core::event_logger::Told Head::told(const Hosting& h) const {
  if (!world_.options().on_nodes()) return {{}, h.term};
  const int settled = h.places.settled_agent();
  return h.places.told(settled < 0 ? nullptr : &agents_[static_cast<std::size_t>(settled)].held);
}

// ---- nodes

void Head::lose(NodeId node) {
  Agent& gone = agent(node);
  if (std::exchange(gone.lost, true)) return;
  lose_places(node);
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    if (agents_[i].lost) continue;
    for (std::size_t copy = 0; copy < agents_[i].held.copies.size(); ++copy) {
      if (agents_[i].held.copies[copy].holder == node.value) give_holder(NodeId(static_cast<int>(i)), copy, node);
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
    h.node = to;
    h.incarnation = Incarnation(h.incarnation.value + restarts_max + 2);
    h.state = RankState::absent;
    h.log_base = Incarnation(h.incarnation.value - 1);
    h.term = h.term.next();
    h.group = adoption.group;
    h.moving = true;
    h.rolling = false;
    if (world_.options().on_nodes()) h.places.move(h.term);
    adoption.ranks.push_back({rank, h.incarnation, h.term, told(h)});
    for (int place : h.places.all()) {
      if (std::ranges::find(adoption.places, NodeId(place)) == adoption.places.end()) adoption.places.emplace_back(place);
    }
  }
  Agent& a = agent(to);
  for (Copy& copy : a.held.copies) copy.held = false;
  if (world_.options().has_holders()) give_holders(to);
  if (world_.options().on_nodes()) {
    for (Rank rank : ranks) {
      for (int holder : a.held.holders()) hosting(rank).places.add(holder);
    }
  }
  tell(to, [&n = world_.node(to), adoption] { n.adopt(adoption); });
}

void Head::on_adopted(Node& from, std::uint64_t group) {
  hear(from, [this, node = from.id(), group] {
    for (Hosting& h : hosting_) {
      if (h.group == group && h.node == node) h.moving = false;
    }
    if (world_.options().on_nodes()) settle_held(node);
  });
}

// ---- cuts

// Everybody hears of a cut before anything of its term, from the head, in one order.
void Head::tell_cut(Rank rank, Term term, std::uint64_t position, bool more) {
  world_.checker().on_cut(rank, term, position, more);
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    if (agents_[i].lost) continue;
    Node& node = world_.node(NodeId(static_cast<int>(i)));
    tell(node.id(), [&node, rank, term, position] { node.on_cut(rank, term, position); });
  }
}

void Head::on_proposed(Node& from, const Adoption& adoption, std::vector<std::uint64_t> positions) {
  hear(from, [this, node = from.id(), adoption, positions = std::move(positions)] {
    if (lost(node)) return;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      tell_cut(adoption.ranks[i].rank, adoption.ranks[i].term, positions[i], i + 1 < positions.size());
    }
    tell(node, [&n = world_.node(node), group = adoption.group] { n.begin(group); });
  });
}

void Head::on_orphan(Node& from, Rank rank, Incarnation incarnation, Term term, std::uint64_t cut) {
  hear(from, [this, node = from.id(), rank, incarnation, term, cut] {
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
  hear(from, [this, node = from.id()] {
    if (!lost(node)) world_.end_by_rule("determinants were lost with several nodes");
  });
}

}  // namespace hf::sim::job
