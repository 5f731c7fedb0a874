#include "sim/job/traffic_plan.hpp"

namespace hf::sim::job {

const std::vector<Drawn>& TrafficPlan::of(std::uint64_t step, std::uint64_t first, std::uint64_t count, int rank) {
  auto [at, is_new] = steps_.try_emplace({step, first});
  auto& by_rank = at->second;
  if (is_new) {
    by_rank.resize(static_cast<std::size_t>(ranks_));
    for (std::uint64_t m = first; m < first + count; ++m) {
      const Drawn drawn(of_job(seed_, step, m), ranks_);
      by_rank[static_cast<std::size_t>(drawn.from)].push_back(drawn);
      by_rank[static_cast<std::size_t>(drawn.to)].push_back(drawn);
    }
  }
  return by_rank[static_cast<std::size_t>(rank)];
}

}  // namespace hf::sim::job
