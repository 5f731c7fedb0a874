// The options of failure detection and of the tree of agents, on the command line of `holdfast run`.
#pragma once
#include <CLI/CLI.hpp>

#include "base/result.hpp"
#include "daemon/control_messages.hpp"

namespace hf::daemon {

struct TreeWords {
  int fan_out = 32, heartbeat_ms = 100, node_timeout_ms = 800, agent_timeout_ms = 0, cut_off_s = 60;
};

void declare(CLI::App& app, TreeWords& words);
// `watched`: whether an agent that is silent is lost. Where there is only one, or nothing survives its loss, only its end counts.
Result<TreeSettings> tree_settings(const TreeWords& words, int agents, bool watched);

}  // namespace hf::daemon
