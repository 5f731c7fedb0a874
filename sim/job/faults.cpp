// World: what strikes the job. A fault is bound to the number of an event, so that it can strike at any.
#include <algorithm>

#include "sim/job/world.hpp"

namespace hf::sim::job {
namespace {

constexpr std::int64_t microsecond = 1000;
constexpr std::int64_t silence_ns = 500 * microsecond;  // after which the head declares a node lost

}  // namespace

std::vector<Fault> plan_faults(const JobOptions& options, std::uint64_t events) {
  Random random(mix(options.seed, 3));
  std::vector<Fault> out;
  const std::uint64_t count = 1 + random.below(static_cast<std::uint64_t>(std::max(1, options.faults)));
  const bool nodes = options.node_level && options.node_faults;
  while (out.size() < count) {
    Fault fault{Fault::kill, random.below(events + events / 8 + 1), random()};
    switch (random.below(nodes ? 12 : 7)) {
      case 0: case 1: case 2: break;
      case 3: case 4: fault.kind = Fault::kill_at_point; break;
      case 5: fault.kind = Fault::kill_again; break;
      case 6: fault.kind = Fault::lose_connection; break;
      case 7: case 8: case 9: fault.kind = Fault::lose_node; break;
      case 10: fault.kind = Fault::pause_node; break;
      default: fault.kind = Fault::lose_holder_connection; break;
    }
    out.push_back(fault);
    if (random.one_in(4)) out.push_back({fault.kind, fault.at + random.below(3), random()});  // several at once
  }
  std::ranges::sort(out, {}, &Fault::at);
  return out;
}

std::string describe(const Fault& fault) {
  static constexpr const char* names[] = {"kill a rank", "kill a rank inside a call", "kill a rank, and again in its recovery", "lose a node",
                                          "pause a node", "lose a connection", "lose the connection to a holder"};
  return fmt::format("before event {}: {}", fault.at, names[fault.kind]);
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
    case Fault::lose_node: return lose_node(fault.choice);
    case Fault::pause_node: return pause_node(fault.choice);
    case Fault::lose_connection: return network_.lose_one(fault.choice);
    case Fault::lose_holder_connection: {
      Node& n = node(NodeId(static_cast<int>(fault.choice % static_cast<std::uint64_t>(options_.nodes))));
      if (!n.dead()) n.lose_holder_connection();
    }
  }
}

void World::kill(Rank rank, Incarnation incarnation) {
  Process* p = find(rank, incarnation);
  if (!p || p->node().paused()) return;
  ++outcome_.deaths;
  p->node().kill(*p);
}

void World::on_point(Process& process) {
  // Not from inside its own call.
  events_.in(0, [this, rank = process.self(), incarnation = process.incarnation()] { kill(rank, incarnation); });
}

// Another must stay that holds, or hosts, what this one does.
NodeId World::node_victim(std::uint64_t choice) {
  std::vector<NodeId> usable;
  for (auto& n : nodes_) {
    if (!n->dead() && !head_.lost(n->id()) && !n->paused()) usable.push_back(n->id());
  }
  const bool several = head_.living() >= 3 && usable.size() >= 3;
  const bool unheard = std::ranges::any_of(nodes_, [this](const auto& n) { return (n->dead() || n->paused()) && !head_.lost(n->id()); });
  const bool close = unheard || !head_.settled();
  if (!several || (close && choice % 4 != 0)) return NodeId(-1);
  excused_ |= close;
  return usable[(choice >> 8) % usable.size()];
}

void World::lose_node(std::uint64_t choice) {
  const NodeId number = node_victim(choice);
  if (number.value < 0) return;
  ++outcome_.moves;
  node(number).end(true);
  events_.in(random_.one_in(3) ? silence_ns : random_.between(1, 50) * microsecond, [this, number] { head_.lose(number); });
}

// It is declared lost when it is silent for too long, and then goes on without knowing.
void World::pause_node(std::uint64_t choice) {
  const NodeId number = node_victim(choice);
  if (number.value < 0) return;
  const std::int64_t ns = random_.between(1, 2 * silence_ns);
  node(number).pause();
  events_.in(ns, [this, number] { node(number).resume(); });
  if (ns < silence_ns) return;
  ++outcome_.moves;
  events_.in(silence_ns, [this, number] { head_.lose(number); });
  // It hears that it is fenced.
  events_.in(ns + random_.between(1, 1000) * microsecond, [this, number] { node(number).end(false); });
}

// Agents that kept their determinants there, or were asking for some.
void World::on_node_gone(NodeId gone) {
  for (auto& n : nodes_) {
    if (n->dead() || n->id() == gone) continue;
    at_node(*n, latency(false), [&other = *n, gone] {
      other.on_holder_closed(gone);
      other.on_place_lost(gone);
    });
  }
}

}  // namespace hf::sim::job
