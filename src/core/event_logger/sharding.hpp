// Who holds whose events (docs/event-loggers.md). Pure.
#pragma once
#include <cstdint>
#include <set>
#include <span>

namespace hf::core::event_logger {

// How agents that are no event loggers are joined. Along a ring the neighbours that a program's ranks mostly talk to hold each other's events,
// which then go with the messages (decisions/0012); in a tree it is not far from anyone to anyone, where all must know what is stable (0015).
enum class Joined : std::uint8_t { ring, tree };
inline constexpr std::size_t tree_from = 16;  // agents: a shorter ring will do

struct HolderCandidate {
  bool usable = false;        // it lives, and is of use
  bool event_logger = false;  // it does nothing else
  int machine = 0;
  std::uint64_t held = 0;     // ranks whose events it holds
};

// The agent that is to hold the events of `agent`; -1: there is none. `agents`: all, by number. `not_these`: the agent does not want them.
//
// Of agents that are no event loggers: the event logger that holds least; without one the next other agent, or the one above it in a binary tree. Of
// an event logger: the next one in the ring of event loggers. On another machine if there is one. So all that live are joined.
int choose_holder(std::span<const HolderCandidate> agents, int agent, const std::set<int>& not_these, Joined joined = Joined::ring);

}  // namespace hf::core::event_logger
