// What must hold, whatever the protocol does to make it so. Knows what the simulator did, and what the application at each
// agent saw; nothing of the cores.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.hpp"

namespace hf::sim {

class Checker {
 public:
  explicit Checker(int agents) : agents_(static_cast<std::size_t>(agents)) {}

  // What the simulator does.
  void on_fault(NodeId agent) { of(agent).excused = true; }  // it may be declared dead
  void on_dead(NodeId agent) { of(agent).dead = of(agent).excused = true; }
  // What was posted, by a number of its own.
  void on_post_all(std::uint64_t message) { from_head_.push_back({to_all, message}); }
  void on_post_down(NodeId to, std::uint64_t message) { from_head_.push_back({to.value, message}); }
  void on_post_up(NodeId from, std::uint64_t message) { of(from).posted.push_back(message); }
  // What the application saw.
  void on_delivery_at_agent(NodeId at, std::uint64_t message);
  void on_delivery_at_head(NodeId source, std::uint64_t message);
  void on_declared(NodeId agent);
  void on_ended(NodeId agent, bool fenced);
  void on_heard_dead(NodeId at, NodeId dead);
  void on_unsettled(const std::string& what) { violation("not settled: " + what); }

  bool is_living(NodeId agent) const { return !of(agent).dead; }
  bool is_declared(NodeId agent) const { return of(agent).declared; }
  // Whether nothing is missing any more; what, at the end.
  std::string missing();
  void on_view_at_end(NodeId at, std::uint32_t version, std::uint32_t version_of_head, const std::vector<bool>& living);
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  static constexpr std::int32_t to_all = -2;
  struct FromHead {
    std::int32_t to = to_all;
    std::uint64_t message = 0;
  };
  struct Agent {
    bool excused = false, dead = false, declared = false;
    std::size_t cursor = 0;             // in from_head_: all before it that are for this agent came
    std::vector<std::uint64_t> posted;  // to the head
    std::size_t arrived = 0;            // of them
  };
  Agent& of(NodeId agent) { return agents_.at(static_cast<std::size_t>(agent.value)); }
  const Agent& of(NodeId agent) const { return agents_.at(static_cast<std::size_t>(agent.value)); }
  void skip_foreign(NodeId agent);
  void violation(std::string text);

  std::vector<Agent> agents_;
  std::vector<FromHead> from_head_;
  std::vector<std::string> violations_;
};

}  // namespace hf::sim
