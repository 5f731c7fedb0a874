#include "sim/job/pace.hpp"

#include <algorithm>

namespace hf::sim::job {

// Drawn: mostly short, sometimes long.
std::int64_t Pace::latency(bool local) {
  if (timing_) return local ? timing_->costs.latency_local_ns : timing_->costs.latency_ns;
  const std::int64_t ns = local ? random_.between(200, 2000) : random_.between(5'000, 40'000);
  return random_.one_in(32) ? 20 * ns : ns;
}

std::int64_t Pace::passage(Instant now, NodeId from, bool local, std::size_t bytes) {
  if (!timing_) return latency(local);
  const Costs& costs = timing_->costs;
  const auto ns = static_cast<std::int64_t>(static_cast<double>(bytes) * (local ? costs.local_ns_a_byte : costs.network_ns_a_byte));
  return latency(local) + (local ? ns : queue(link_free_, from, now, ns));
}

std::int64_t Pace::look(std::int64_t low_ns, std::int64_t high_ns) {
  return timing_ ? timing_->costs.look_ns : random_.between(low_ns, high_ns);
}

std::int64_t Pace::exchange(std::int64_t low_ns, std::int64_t high_ns) {
  return timing_ ? timing_->costs.exchange_ns : random_.between(low_ns, high_ns);
}

std::int64_t Pace::append(Instant now, NodeId at) { return timing_ ? queue(agent_free_, at, now, timing_->costs.append_ns) : 0; }

std::int64_t Pace::queue(std::map<NodeId, std::int64_t>& free_at, NodeId node, Instant now, std::int64_t ns) {
  std::int64_t& free = free_at[node];
  free = std::max(free, now.value) + ns;
  return free - now.value;
}

}  // namespace hf::sim::job
