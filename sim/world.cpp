#include "sim/world.hpp"

#include <fmt/format.h>

#include "base/check.hpp"

namespace hf::sim {
namespace {

constexpr std::uint64_t joined_message = 0, all_joined_message = 1;
constexpr std::int64_t millisecond = 1'000'000;

double seconds(Instant from, Instant to) {
  return static_cast<double>(to.value - from.value) / 1e9;
}

std::uint64_t message_of(const std::vector<std::byte>& payload) {
  std::uint64_t message = 0;
  HF_CHECK(payload.size() >= sizeof message);
  std::memcpy(&message, payload.data(), sizeof message);
  return message;
}

}  // namespace

World::World(const Scenario& scenario)
    : scenario_(scenario),
      random_(scenario.seed),
      network_(events_, *this, scenario.network, random_()),
      checker_(scenario.cores.agents),
      handlers_{[this](Frame frame) { network_.send(std::move(frame)); },
                [this](NodeId at, const core::tree::Delivery& delivery, int depth) { on_delivery(at, delivery, depth); },
                [this](NodeId at, const std::vector<NodeId>& dead, int depth) { on_view(at, dead, depth); },
                [this](NodeId at, core::membership::EndReason reason) { on_ended(at, reason); },
                [this](NodeId at, NodeId dead) { checker_.on_heard_dead(at, dead); }},
      seats_(static_cast<std::size_t>(scenario.cores.agents) + 1) {}

Outcome World::run() {
  begin_cost(outcome_.start);
  birth(head_node);
  for (int i = 0; i < scenario_.cores.agents; ++i) {
    events_.in(static_cast<std::int64_t>(draw(50 * millisecond)), [this, i] { birth(NodeId(i)); });
  }
  events_.in(10 * millisecond, [this] { tick(); });
  while (!over_ && events_.step()) {
  }
  outcome_.version = seat(head_node).host->membership().version().value;
  outcome_.dead = static_cast<int>(dead_at_head_.size());
  outcome_.violations = checker_.violations();
  return outcome_;
}

void World::birth(NodeId node) {
  Seat& s = seat(node);
  s.host = std::make_unique<Host>(scenario_.cores, node, events_.now(), handlers_);
  if (node != head_node) {
    HF_CHECK(s.host->tree().post_up(events_.now(), payload(joined_message)));
    checker_.on_post_up(node, joined_message);
  }
  s.host->drain(events_.now(), 0);
  for (const Frame& frame : std::exchange(s.waiting, {})) s.host->on_frame(events_.now(), frame);
  plan_wake(node);
}

void World::on_arrival(Frame frame) {
  NodeId at = frame.to;
  Seat& s = seat(at);
  if (s.gone) return;
  if (!s.host || s.stopped) {
    s.waiting.push_back(std::move(frame));
    return;
  }
  s.host->on_frame(events_.now(), frame);
  plan_wake(at);
}

void World::on_closed(NodeId at, NodeId peer) {
  Seat& s = seat(at);
  if (s.gone || !s.host) return;
  if (s.stopped) return s.waiting_closed.push_back(peer);
  s.host->on_closed(events_.now(), peer);
  plan_wake(at);
}

// With all cores busy a process that slept gets one late.
void World::plan_wake(NodeId node) {
  Seat& s = seat(node);
  auto deadline = s.host->next_deadline();
  if (s.gone || !deadline || (s.wake && *s.wake <= *deadline)) return;
  s.wake = deadline;
  std::int64_t late = scenario_.busy ? static_cast<std::int64_t>(draw(200 * millisecond)) : static_cast<std::int64_t>(draw(millisecond));
  Instant planned = *deadline;
  events_.at(Instant(deadline->value + late), [this, node, planned] {
    if (seat(node).wake == planned) wake(node);
  });
}

void World::wake(NodeId node) {
  Seat& s = seat(node);
  s.wake.reset();
  if (s.gone) return;
  if (s.stopped) {
    s.overdue = true;
    return;
  }
  s.host->on_timeout(events_.now());
  plan_wake(node);
}

void World::on_delivery(NodeId at, const core::tree::Delivery& delivery, int depth) {
  std::uint64_t message = message_of(delivery.payload);
  if (at != head_node) {
    checker_.on_delivery_at_agent(at, message);
    if (message == all_joined_message) on_started(at, depth);
    return;
  }
  checker_.on_delivery_at_head(delivery.source, message);
  if (message != joined_message || ++joined_ != scenario_.cores.agents) return;
  // Not from inside the head's own drain.
  events_.in(0, [this, depth] {
    Host& head = *seat(head_node).host;
    head.membership().on_started(events_.now());
    HF_CHECK(head.tree().post_all(events_.now(), payload(all_joined_message)));
    checker_.on_post_all(all_joined_message);
    head.drain(events_.now(), depth);
  });
}

void World::on_started(NodeId at, int depth) {
  seat(at).host->membership().on_started(events_.now());
  if (cost_) cost_->rounds = std::max(cost_->rounds, depth);
  if (++started_ < scenario_.cores.agents) return;
  end_cost(outcome_.start);
  events_.in(300 * millisecond, [this] { plan_faults(); });
  posting_ = scenario_.messages;
}

void World::on_view(NodeId at, const std::vector<NodeId>& dead, int depth) {
  if (cost_) cost_->rounds = std::max(cost_->rounds, depth);
  if (at != head_node) return;
  for (NodeId agent : dead) {
    checker_.on_declared(agent);
    dead_at_head_.insert(agent);
    if (seat(agent).died) outcome_.found_max_seconds = std::max(outcome_.found_max_seconds, seconds(*seat(agent).died, events_.now()));
  }
}

void World::on_ended(NodeId at, core::membership::EndReason reason) {
  seat(at).gone = true;
  checker_.on_ended(at, reason == core::membership::EndReason::fenced);
  network_.on_process_end(at);
}

bool World::agreed() {
  auto version = seat(head_node).host->membership().version();
  for (Seat& s : seats_) {
    if (!s.gone && s.host->membership().version() != version) return false;
  }
  for (int i = 0; i < scenario_.cores.agents; ++i) {
    if (seat(NodeId(i)).gone != dead_at_head_.contains(NodeId(i))) return false;
  }
  return true;
}

void World::begin_cost(Cost& cost) {
  cost_ = &cost;
  cost_since_ = events_.now();
  for (Seat& s : seats_) {
    if (s.host) s.host->traffic() = {};
  }
}

void World::end_cost(Cost& cost) {
  std::uint64_t frames = 0, heartbeats = 0;
  for (Seat& s : seats_) {
    const Traffic& t = s.host->traffic();
    frames += t.other_frames;
    heartbeats += t.heartbeats;
    cost.bytes += t.bytes;
    cost.frames_max = std::max(cost.frames_max, t.other_frames);
  }
  cost.frames_mean = static_cast<double>(frames) / static_cast<double>(seats_.size());
  cost.heartbeats_mean = static_cast<double>(heartbeats) / static_cast<double>(seats_.size());
  cost.seconds = seconds(cost_since_, events_.now());
  cost_ = nullptr;
}

Outcome run(const Scenario& scenario) {
  return World(scenario).run();
}

}  // namespace hf::sim
