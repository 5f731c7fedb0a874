// World: what strikes the job. A fault is bound to the number of an event, so that it can strike at any.
#include <algorithm>

#include "sim/job/world.hpp"

namespace hf::sim::job {
namespace {

constexpr std::int64_t microsecond = 1000;
constexpr std::int64_t silence_ns = 500 * microsecond;  // after which the head declares a node lost

}  // namespace

std::vector<Fault> plan_faults(const JobOptions& options, std::uint64_t events) {
  using enum Fault::Kind;
  // As often as named.
  static const std::vector<Fault::Kind> of_ranks{kill, kill, kill, kill_at_point, kill_at_point, kill_again, lose_connection};
  static const std::vector<Fault::Kind> of_nodes{kill, kill, kill, kill_at_point, kill_at_point, kill_again, lose_connection,
                                                 lose_node, lose_node, lose_related, pause_node, lose_holder_connection};
  static const std::vector<Fault::Kind> under_optimist{kill, kill, kill_at_point, kill_again, lose_connection,
                                                       lose_node, lose_node, lose_node, lose_related, pause_node, lose_holder_connection, strike_rollback, strike_rollback};
  const auto& drawn = options.optimistic() ? under_optimist : options.keeps_events() ? of_nodes : of_ranks;
  Random random(mix(options.seed, 3));
  auto kinds = options.kinds.empty() ? drawn : options.kinds;
  if (options.kinds.empty() && options.on_disk()) {
    kinds.insert(kinds.end(), {disk_stands_still, pause_node, lose_node});
    if (random.one_in(4)) kinds.push_back(random.one_in(2) ? disk_damage : disk_fails);
  }
  std::vector<Fault> out;
  const std::uint64_t count = 1 + random.below(static_cast<std::uint64_t>(std::max(1, options.faults)));
  while (out.size() < count) {
    Fault fault{kinds[random.below(kinds.size())], random.below(events + events / 8 + 1), random()};
    out.push_back(fault);
    if (random.one_in(4)) out.push_back({fault.kind, fault.at + random.below(3), random()});  // several at once
  }
  std::ranges::sort(out, {}, &Fault::at);
  return out;
}

const char* name_of(Fault::Kind kind) {
  static constexpr const char* names[Fault::kinds] = {"kill", "kill-at-point", "kill-again", "connection",
                                                       "node", "related-nodes", "pause", "holder-connection", "slow-holder", "disk-stands-still", "disk-fails",
                                                       "disk-damage", "rollback", "diverge"};
  return names[kind];
}

std::string describe(const Fault& fault) {
  static constexpr const char* what[Fault::kinds] = {
      "a rank is killed", "a rank is killed inside a call", "a rank is killed, and again in its recovery", "a connection is lost",
      "a node is lost", "a node is lost, and others that have to do with it", "a node is paused", "the connection to a holder is lost",
      "a holder is slow until another takes its place",
      "a disk stands still", "a disk fails", "an event file is damaged",
      "a node is lost, and orphans that follow from it are struck",
      "a node is lost, and one of its ranks does something else in its replay"};
  return fmt::format("before event {}: {}", fault.at, what[fault.kind]);
}

Process* World::victim(std::uint64_t choice) {
  for (int i = 0; i < options_.ranks; ++i) {
    auto& processes = processes_[(choice + static_cast<std::uint64_t>(i)) % static_cast<std::uint64_t>(options_.ranks)];
    if (!processes.empty() && !processes.back()->node().paused()) return processes.back();
  }
  return nullptr;
}

void World::strike(const Fault& fault) {
  switch (fault.kind) {
    case Fault::kill:
    case Fault::kill_at_point:
    case Fault::kill_again: {
      Process* p = victim(fault.choice);
      if (!p) return;
      if (fault.kind == Fault::kill_at_point) return p->die_at_point(static_cast<int>(fault.choice >> 32 & 15) + 1);
      const Rank rank = p->self();
      kill(rank, p->incarnation());
      if (fault.kind == Fault::kill) return;
      for (int again = 1; again <= 2; ++again) {
        events_.in(random_.between(1, again * 300) * microsecond, [this, rank] {
          if (auto& now = processes_[static_cast<std::size_t>(rank.value)]; !now.empty()) kill(rank, now.back()->incarnation());
        });
      }
      return;
    }
    case Fault::lose_node: {
      if (const NodeId number = node_victim(fault.choice); number.value >= 0) lose_node(number);
      return;
    }
    case Fault::lose_related: return lose_related(fault.choice);
    case Fault::pause_node: return pause_node(fault.choice);
    case Fault::lose_connection: return network_.lose_one(fault.choice);
    case Fault::lose_holder_connection:
    case Fault::slow_holder: {
      Node& n = node(NodeId(static_cast<int>(fault.choice % static_cast<std::uint64_t>(options_.nodes))));
      if (n.dead()) return;
      if (fault.kind == Fault::lose_holder_connection) return n.lose_holder_connection(fault.choice >> 20);
      // Of several copies, one that was given up does not count when others are lost.
      if (options_.event_copies > 1) count_loss(is_close());
      return n.slow_holder(fault.choice >> 20);
    }
    case Fault::disk_stands_still:
    case Fault::disk_fails:
    case Fault::disk_damage: return strike_disk(fault);
    case Fault::strike_rollback: {
      rollbacks_to_strike_ += 1 + static_cast<int>(fault.choice >> 16 & 1);
      if (const NodeId number = node_victim(fault.choice); number.value >= 0) lose_node(number);
      return;
    }
    case Fault::diverge: diverge(fault.choice);
  }
}

// One of its ranks sends something else, at a send that it has made, whenever it is started elsewhere.
void World::diverge(std::uint64_t choice) {
  const NodeId number = node_victim(choice);
  if (number.value < 0) return;
  std::vector<const Life*> senders;
  for (const auto& processes : processes_) {
    for (const Process* p : processes) {
      if (p->node().id() == number && !p->life().sends.empty()) senders.push_back(&p->life());
    }
  }
  if (!divergence_ && !senders.empty()) {
    const Life& life = *senders[(choice >> 12) % senders.size()];
    divergence_ = {life.rank, life.incarnation, static_cast<std::uint32_t>((choice >> 24) % life.sends.size()), (choice >> 48) % 2 == 0};
  }
  lose_node(number);
}

void World::divert(const Process& process, Frame& frame) {
  const bool diverges = divergence_ && process.self() == divergence_->rank && process.incarnation() > divergence_->after &&
                        process.node().term(process.self()) > Term{} && frame.payload.send == divergence_->send;
  if (!diverges) return;
  if (divergence_->tag && !frame.numbered) frame.tag = MessageTag(frame.tag.value + 100);
  else frame.payload.value ^= 1;
  outcome_.diverged = true;
  diverged_at_ = outcome_.events;
  checker_.on_divergence();
}

void World::kill(Rank rank, Incarnation incarnation) {
  Process* p = find(rank, incarnation);
  if (!p || p->node().paused()) return;
  ++outcome_.deaths;
  p->node().kill(*p);
}

void World::on_point(Process& process) {
  // Not from inside its own call; when its node goes on, if it is paused just then.
  at_node(process.node(), 0, [this, rank = process.self(), incarnation = process.incarnation()] { kill(rank, incarnation); });
}

// Another must stay that holds, or hosts, what this one does.
NodeId World::node_victim(std::uint64_t choice) {
  std::vector<NodeId> usable;
  for (auto& n : nodes_) {
    if (!n->dead() && !head_.lost(n->id()) && !n->paused()) usable.push_back(n->id());
  }
  const auto hosts = std::ranges::count_if(usable, [this](NodeId n) { return !options_.is_event_logger(n.value); });
  const bool tolerated = !options_.on_nodes() || losses_ < options_.event_copies;
  if (hosts < 3 || (is_close() && !tolerated && choice % 8 != 0)) return NodeId(-1);
  return usable[(choice >> 8) % usable.size()];
}

// Another is lost, or given up, of which the head has not heard, or by which determinants are where its ranks are alone.
bool World::is_close() const {
  auto unheard_of = [this](const auto& n) { return (n->dead() || n->paused()) && !head_.lost(n->id()); };
  auto gives_up = [](const auto& n) { return !n->dead() && n->has_slow_holder(); };
  return std::ranges::any_of(nodes_, unheard_of) || std::ranges::any_of(nodes_, gives_up) || !head_.settled();
}

// Files survive the loss of any number of nodes; copies that of as many as there are, of which one hosts the ranks, also while others are
// still being made for what was lost before.
void World::count_loss(bool close) {
  losses_ = close ? losses_ + 1 : 1;
  const bool files = options_.on_disk() && !damaged_;
  if (!close) excused_ = disk_excused_;
  excused_ |= !files && losses_ > options_.event_copies;
}

void World::lose_node(NodeId number) {
  ++outcome_.moves;
  count_loss(is_close());
  node(number).end(true);
  if (!random_.one_in(4)) directory_.lose_machine(number);
  events_.in(random_.one_in(3) ? silence_ns : random_.between(1, 50) * microsecond, [this, number] { head_.lose(number); });
}

// A node, and then who holds its determinants, takes its ranks over, or holds them for whoever does: in any order, soon.
void World::lose_related(std::uint64_t choice) {
  const NodeId number = node_victim(choice);
  if (number.value < 0) return;
  const Rank rank = head_.any_rank_of(number);
  const NodeId holder = head_.holder_of(number, choice >> 40);
  lose_node(choice & 4 && holder.value >= 0 && !node(holder).dead() ? holder : number);
  std::int64_t in = 0;
  for (int i = 0; i < 2; ++i) {
    in += random_.between(1, std::int64_t{1} << random_.below(10)) * microsecond;
    events_.in(in, [this, rank] {
      const NodeId host = head_.host_of(rank), its_holder = head_.holder_of(host, random_());
      const NodeId next = its_holder.value >= 0 && random_.one_in(2) ? its_holder : host;
      if (node(next).dead() || node(next).paused() || living() < 3) return;
      lose_node(next);
    });
  }
}

// The rank, its node, that node's holder, or another rank, at any time in what follows.
void World::strike_in_rollback(NodeId number, Rank rank) {
  const std::uint64_t choice = random_();
  events_.in(random_.between(1, std::int64_t{1} << (8 + random_.below(11))), [this, number, rank, choice] {
    const NodeId holder = node(number).any_holder(choice >> 40);
    const NodeId next = choice % 2 == 0 || holder.value < 0 ? number : holder;
    if (choice % 8 < 3) {
      if (Process* p = victim(choice % 8 == 0 ? choice >> 8 : static_cast<std::uint64_t>(rank.value))) kill(p->self(), p->incarnation());
    } else if (!node(next).dead() && !node(next).paused() && living() >= 3) {
      lose_node(next);
    }
  });
}

int World::living() const {
  auto lives = [this](const auto& n) {
    return !options_.is_event_logger(n->id().value) && !n->dead() && !n->paused() && !head_.lost(n->id());
  };
  return static_cast<int>(std::ranges::count_if(nodes_, lives));
}

// It is declared lost when it is silent for too long, and then goes on without knowing.
void World::pause_node(std::uint64_t choice) {
  const NodeId number = node_victim(choice);
  if (number.value < 0) return;
  const std::int64_t ns = random_.between(1, 2 * silence_ns);
  const bool close = is_close();
  node(number).pause();
  events_.in(ns, [this, number] { node(number).resume(); });
  if (ns < silence_ns) return;
  ++outcome_.moves;
  count_loss(close);
  events_.in(silence_ns, [this, number] { head_.lose(number); });
  // It hears that it is fenced.
  events_.in(ns + random_.between(1, 1000) * microsecond, [this, number] { node(number).end(false); });
}

void World::strike_disk(const Fault& fault) {
  Node& n = node(NodeId(static_cast<int>(fault.choice % nodes_.size())));
  if (!n.files() || n.dead()) return;
  if (fault.kind == Fault::disk_stands_still) return n.files()->stand_still(random_.between(1, 5000) * microsecond);
  if (fault.kind == Fault::disk_fails) return n.files()->fail();
  if (!directory_.damage(n.id(), fault.choice >> 20)) return;
  damaged_ = true;
  disk_excused_ |= !options_.on_nodes() || losses_ > options_.event_copies || (losses_ > 0 && is_close());
  excused_ |= disk_excused_;
}

// Agents that kept their determinants there, or were asking for some.
void World::on_node_gone(NodeId gone) {
  for (auto& n : nodes_) {
    if (n->dead() || n->id() == gone) continue;
    at_node(*n, latency(false), [&other = *n, gone] {
      other.on_holder_closed(gone);
      other.on_place_gone(gone);
    });
  }
}

}  // namespace hf::sim::job
