// What an agent's board says of a rank (wire::BoardEntry).
#pragma once
#include "base/ids.hpp"

namespace hf::sim::job {

enum class RankState : std::uint8_t { absent, running, dead, finished };

struct BoardEntry {
  Incarnation incarnation{};
  RankState state = RankState::absent;
  NodeId node{};           // that keeps its logs
  Incarnation log_base{};  // the first of which there is one
};

}  // namespace hf::sim::job
