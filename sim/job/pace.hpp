// How long things take: drawn, so that everything happens in every order; or what a timed run says, and then nothing is drawn.
#pragma once
#include <map>
#include <optional>

#include "base/ids.hpp"
#include "sim/job/random.hpp"
#include "sim/job/timing.hpp"

namespace hf::sim::job {

class Pace {
 public:
  Pace(Random& random, const std::optional<Timing>& timing) : random_(random), timing_(timing) {}

  std::int64_t latency(bool local);
  // A frame with so many bytes leaves the node now.
  std::int64_t passage(Instant now, NodeId from, bool local, std::size_t bytes);
  // Until a process or an agent looks: drawn from this range.
  std::int64_t look(std::int64_t low_ns, std::int64_t high_ns);
  std::int64_t exchange(std::int64_t low_ns, std::int64_t high_ns);
  // An agent takes a frame of determinants: until it has, behind those before.
  std::int64_t append(Instant now, NodeId at);

 private:
  std::int64_t queue(std::map<NodeId, std::int64_t>& free_at, NodeId node, Instant now, std::int64_t ns);

  Random& random_;
  const std::optional<Timing>& timing_;
  std::map<NodeId, std::int64_t> link_free_, agent_free_;  // when
};

}  // namespace hf::sim::job
