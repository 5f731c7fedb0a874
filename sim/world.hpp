// All hosts of a run with their network and clock, and what is done to them.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>

#include "sim/checker.hpp"
#include "sim/scenario.hpp"

namespace hf::sim {

class World : private NetworkUser {
 public:
  explicit World(const Scenario& scenario);
  Outcome run();

 private:
  struct Seat {  // of an agent's process
    std::unique_ptr<Host> host;  // nothing before it starts
    std::vector<Frame> waiting;  // what came before it started or while it was stopped
    std::vector<NodeId> waiting_closed;
    bool stopped = false, gone = false, started = false, overdue = false;
    std::optional<Instant> wake;  // planned
    std::optional<Instant> died;
  };
  // ---- world.cpp: what hosts say and do
  void on_arrival(Frame frame) override;
  void on_closed(NodeId at, NodeId peer) override;
  void on_delivery(NodeId at, const core::tree::Delivery& delivery, int depth);
  void on_view(NodeId at, const std::vector<NodeId>& dead, int depth);
  void on_ended(NodeId at, core::membership::EndReason reason);
  void birth(NodeId node);
  void on_started(NodeId at, int depth);
  void plan_wake(NodeId node);
  void wake(NodeId node);
  bool agreed();
  void begin_cost(Cost& cost);
  void end_cost(Cost& cost);

  // ---- faults.cpp
  void plan_faults();
  NodeId draw_victim();
  void kill(NodeId agent, bool silent);
  void stop(NodeId agent, std::int64_t ns, bool long_enough);
  void resume(NodeId agent);
  void read_waiting(NodeId agent);
  void cut_subtree();
  void lose_connection(NodeId agent);

  // ---- traffic.cpp
  void tick();
  void post_some();
  void post_at_head(Instant now);
  void settle();
  void check_views();
  std::vector<std::byte> payload(std::uint64_t message);

  Seat& seat(NodeId node) { return seats_[static_cast<std::size_t>(node.value + 1)]; }
  NodeId any_agent() { return NodeId(static_cast<std::int32_t>(draw(static_cast<std::uint64_t>(scenario_.cores.agents)))); }
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }

  Scenario scenario_;
  std::mt19937_64 random_;
  Events events_;
  Network network_;
  Checker checker_;
  Host::Handlers handlers_;
  std::vector<Seat> seats_;  // the head's first
  std::set<NodeId> dead_at_head_;
  std::set<NodeId> victims_;
  std::uint64_t next_message_ = 2;  // 0: joined, 1: all have joined
  int joined_ = 0, started_ = 0;
  bool faults_planned_ = false, posting_ = false, over_ = false;
  Instant last_fault_{}, first_fault_{};
  int faults_open_ = 0;  // planned, or to be undone
  Cost* cost_ = nullptr;
  Instant cost_since_{};
  Outcome outcome_;
};

}  // namespace hf::sim
