// Who holds whose events (docs/event-loggers.md). Pure.
#pragma once
#include <cstdint>
#include <set>
#include <span>

namespace hf::core::event_logger {

struct HolderCandidate {
  bool usable = false;        // it lives, and is of use
  bool event_logger = false;  // it does nothing else
  int machine = 0;
  std::uint64_t held = 0;     // ranks whose events it holds
};

// The agent that is to hold the events of `agent`; -1: there is none. `agents`: all, by number. `not_these`: the agent does not want them.
//
// Of agents that are no event loggers: the event logger that holds least; without one the next other agent. Of an event logger: the next
// one in the ring of event loggers, so that they are joined. On another machine if there is one.
int choose_holder(std::span<const HolderCandidate> agents, int agent, const std::set<int>& not_these);

}  // namespace hf::core::event_logger
