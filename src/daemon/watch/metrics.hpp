// The numbers of a running job in the text format of Prometheus (docs/metrics.md has the names).
#pragma once
#include <string>
#include <vector>

#include "daemon/watch/job_watch.hpp"

namespace hf::daemon {

// What an agent was at the start.
enum class NodeRole { ranks, spare, event_logger };

// What does not change while the job runs, but for the nodes.
struct JobFacts {
  std::string protocol, log_level;
  double started_s = 0;           // since 1970
  std::vector<bool> node_lives;   // by agent
  std::vector<NodeRole> node_roles;
};

std::string metrics_text(const JobWatch& watch, const JobFacts& facts);

}  // namespace hf::daemon
