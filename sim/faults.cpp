// World: what is done to the agents.
#include "base/check.hpp"
#include "sim/world.hpp"

namespace hf::sim {
namespace {

constexpr std::int64_t millisecond = 1'000'000;

}  // namespace

NodeId World::draw_victim() {
  for (;;) {
    NodeId agent = any_agent();
    if (victims_.insert(agent).second) return agent;
  }
}

void World::plan_faults() {
  first_fault_ = events_.now();
  begin_cost(outcome_.heal);
  auto in_a_while = [&] { return scenario_.at_once ? 0 : static_cast<std::int64_t>(draw(500 * millisecond)); };
  auto plan = [&](int count, std::int64_t in, auto fault) {
    for (int i = 0; i < count; ++i) {
      ++faults_open_;
      events_.in(in >= 0 ? in : in_a_while(), [this, fault] {
        fault();
        --faults_open_;
      });
    }
  };
  int kills = static_cast<int>(scenario_.kill * scenario_.cores.agents + 0.5);
  for (int i = 0; i < kills; ++i) {
    NodeId agent = draw_victim();
    bool silent = static_cast<double>(draw(1000)) < scenario_.silent * 1000;
    plan(1, -1, [this, agent, silent] { kill(agent, silent); });
  }
  plan(scenario_.stop, -1, [this] { stop(draw_victim(), 2000 * millisecond, true); });
  plan(scenario_.hiccup, -1, [this] { stop(draw_victim(), 250 * millisecond, false); });
  plan(scenario_.lose_connections, -1, [this] { lose_connection(draw_victim()); });
  plan(scenario_.stop_head ? 1 : 0, -1, [this] { stop(head_node, 2000 * millisecond, false); });
  plan(scenario_.partitions, -1, [this] { cut_subtree(); });
  faults_planned_ = true;
}

void World::kill(NodeId agent, bool silent) {
  Seat& s = seat(agent);
  if (s.gone) return;
  s.gone = true;
  s.died = events_.now();
  last_fault_ = events_.now();
  checker_.on_dead(agent);
  if (silent) network_.on_node_loss(agent);
  else network_.on_process_end(agent);
}

void World::stop(NodeId agent, std::int64_t ns, bool long_enough) {
  Seat& s = seat(agent);
  if (s.gone || s.stopped) return;
  s.stopped = true;
  last_fault_ = events_.now();
  if (long_enough) checker_.on_fault(agent);
  ++faults_open_;
  events_.in(ns, [this, agent] {
    --faults_open_;
    resume(agent);
  });
}

// What came meanwhile is read before the timers are looked at, or a little after.
void World::resume(NodeId agent) {
  Seat& s = seat(agent);
  last_fault_ = events_.now();
  if (s.gone || draw(2) == 0) return read_waiting(agent);
  s.host->on_timeout(events_.now());
  ++faults_open_;
  events_.in(10 * millisecond, [this, agent] {
    --faults_open_;
    if (!seat(agent).gone) seat(agent).host->on_timeout(events_.now());
    read_waiting(agent);
  });
}

void World::read_waiting(NodeId agent) {
  Seat& s = seat(agent);
  s.stopped = false;
  if (s.gone) return;
  for (const Frame& frame : std::exchange(s.waiting, {})) {
    if (!s.gone) s.host->on_frame(events_.now(), frame);
  }
  for (NodeId peer : std::exchange(s.waiting_closed, {})) {
    if (!s.gone) s.host->on_closed(events_.now(), peer);
  }
  if (!s.gone && s.overdue) s.host->on_timeout(events_.now());
  s.overdue = false;
  if (!s.gone) plan_wake(agent);
}

// An agent with all below it, as the head sees the tree.
void World::cut_subtree() {
  const auto& shape = seat(head_node).host->membership().shape();
  NodeId top = head_node;
  for (int tries = 0; tries < 10000; ++tries) {
    top = any_agent();
    if (shape.is_alive(top) && !shape.children(top).empty()) break;
  }
  HF_CHECK(top != head_node);
  std::vector<NodeId> side;
  for (int i = 0; i < scenario_.cores.agents; ++i) {
    if (shape.is_alive(NodeId(i)) && (NodeId(i) == top || shape.is_above(top, NodeId(i)))) side.emplace_back(i);
  }
  for (NodeId agent : side) {
    checker_.on_fault(agent);
    victims_.insert(agent);
  }
  network_.partition(side);
  ++faults_open_;
  events_.in(3000 * millisecond, [this] {
    last_fault_ = events_.now();
    network_.heal();
    --faults_open_;
  });
}

void World::lose_connection(NodeId agent) {
  Host& head = *seat(head_node).host;
  if (seat(agent).gone || !head.membership().shape().is_alive(agent)) return;
  NodeId parent = head.membership().shape().parent(agent);
  if (parent != head_node && seat(parent).gone) return;
  checker_.on_fault(agent);
  last_fault_ = events_.now();
  network_.lose_connection(agent, parent);
}

}  // namespace hf::sim
