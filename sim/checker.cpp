#include "sim/checker.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hf::sim {

void Checker::violation(std::string text) {
  constexpr std::size_t enough = 20;
  if (violations_.size() < enough) violations_.push_back(std::move(text));
}

void Checker::skip_foreign(NodeId agent) {
  Agent& a = of(agent);
  while (a.cursor < from_head_.size() && from_head_[a.cursor].to != to_all && from_head_[a.cursor].to != agent.value) ++a.cursor;
}

void Checker::on_delivery_at_agent(NodeId at, std::uint64_t message) {
  skip_foreign(at);
  Agent& a = of(at);
  if (a.cursor < from_head_.size() && from_head_[a.cursor].message == message) {
    ++a.cursor;
    return;
  }
  std::string expected = a.cursor < from_head_.size() ? fmt::format("{}", from_head_[a.cursor].message) : "none";
  violation(fmt::format("agent {} got message {} of the head, the next for it is {}", at.value, message, expected));
}

void Checker::on_delivery_at_head(NodeId source, std::uint64_t message) {
  Agent& a = of(source);
  if (a.declared) violation(fmt::format("the head took message {} of agent {}, which it had declared dead", message, source.value));
  if (a.arrived < a.posted.size() && a.posted[a.arrived] == message) {
    ++a.arrived;
    return;
  }
  std::string expected = a.arrived < a.posted.size() ? fmt::format("{}", a.posted[a.arrived]) : "none";
  violation(fmt::format("the head got message {} of agent {}, the next is {}", message, source.value, expected));
}

void Checker::on_declared(NodeId agent) {
  Agent& a = of(agent);
  if (a.declared) violation(fmt::format("agent {} was declared dead twice", agent.value));
  if (!a.excused) violation(fmt::format("agent {} was declared dead and is alive", agent.value));
  a.declared = true;
}

void Checker::on_ended(NodeId agent, bool fenced) {
  Agent& a = of(agent);
  if (fenced && !a.declared) violation(fmt::format("agent {} ended as if declared dead, and was not", agent.value));
  if (!fenced && !a.excused) violation(fmt::format("agent {} ended, cut off, and was not", agent.value));
  a.dead = true;
}

void Checker::on_heard_dead(NodeId at, NodeId dead) {
  violation(fmt::format("agent {} took a frame of agent {}, which it knew to be dead", at.value, dead.value));
}

std::string Checker::missing() {
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    NodeId agent{static_cast<std::int32_t>(i)};
    Agent& a = agents_[i];
    if (a.dead != a.declared) return fmt::format("agent {} is {}", i, a.dead ? "dead and not declared so" : "declared dead and goes on");
    if (a.dead) continue;
    skip_foreign(agent);
    if (a.cursor < from_head_.size()) return fmt::format("agent {} did not get message {}", i, from_head_[a.cursor].message);
    if (a.arrived < a.posted.size()) return fmt::format("the head did not get message {} of agent {}", a.posted[a.arrived], i);
  }
  return "";
}

void Checker::on_view_at_end(NodeId at, std::uint32_t version, std::uint32_t version_of_head, const std::vector<bool>& living) {
  if (version != version_of_head) violation(fmt::format("agent {} is at version {}, the head at {}", at.value, version, version_of_head));
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    if (living[i] == agents_[i].dead) {
      violation(fmt::format("agent {} takes agent {} for {}", at.value, i, agents_[i].dead ? "living" : "dead"));
    }
  }
}

}  // namespace hf::sim
