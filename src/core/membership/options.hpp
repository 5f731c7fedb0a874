// What a user may set of failure detection; the report shows it.
#pragma once
#include <cstdint>

namespace hf::core::membership {

struct MembershipOptions {
  std::int64_t heartbeat_ns = 100'000'000;  // between two, in both directions of an edge of the tree
  // Silence after which a neighbour is found dead: mean + deviations * mean deviation of the gaps between its heartbeats,
  // but between these two. Death, the last heartbeat before it, the way to the head: below one second.
  std::int64_t silence_floor_ns = 400'000'000;
  std::int64_t silence_ceiling_ns = 800'000'000;
  // The same of an agent whose host still answers: its node is busy, or it is stopped.
  std::int64_t agent_silence_ns = 1'200'000'000;
  double deviations = 8;
  std::int64_t contact_ns = 400'000'000;       // for the first frame of an agent that comes under another by a healing
  std::int64_t start_ns = 60'000'000'000;      // silence of whoever it is, before the job has started: agents prepare, at length
  std::int64_t gather_ns = 5'000'000;           // between the first word of a death and the head's decision: others come with it
  std::int64_t decision_ns = 100'000'000;      // between two decisions of the head: what is found dead meanwhile goes into one
  std::int64_t closed_parent_ns = 5'000'000'000;   // an agent whose parent's connection is closed waits so long for another ...
  std::int64_t silent_parent_ns = 60'000'000'000;  // ... and so long when it is only silent; then it ends
};

}  // namespace hf::core::membership
