// Who sends to whom in a step of the traffic: a function of the seed, that everybody knows. Worked out once for all ranks of a run.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/job/random.hpp"

namespace hf::sim::job {

constexpr std::uint64_t of_job(std::uint64_t seed, std::uint64_t step, std::uint64_t what) { return mix(mix(mix(seed, 4), step), what); }

// A message is drawn from one hash, which is all that is known of it.
struct Drawn {
  Drawn(std::uint64_t h, int ranks)
      : hash(h),
        from(static_cast<int>(h % static_cast<std::uint64_t>(ranks))),
        to((from + 1 + static_cast<int>((h >> 20) % static_cast<std::uint64_t>(ranks - 1))) % ranks) {}
  std::uint64_t hash;
  int from, to;
};

class TrafficPlan {
 public:
  TrafficPlan(std::uint64_t seed, int ranks) : seed_(seed), ranks_(ranks) {}
  // Those that this rank sends or receives, of messages [first, first + count) of the step, in their order.
  const std::vector<Drawn>& of(std::uint64_t step, std::uint64_t first, std::uint64_t count, int rank);

 private:
  std::uint64_t seed_;
  int ranks_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::vector<Drawn>>> steps_;  // by rank
};

}  // namespace hf::sim::job
