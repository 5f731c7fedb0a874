// What an agent's board says of a rank (wire::BoardEntry).
#pragma once
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.hpp"

namespace hf::sim::job {

enum class RankState : std::uint8_t { absent, running, dead, finished };

struct BoardEntry {
  Incarnation incarnation{};
  RankState state = RankState::absent;
  NodeId node{};           // that keeps its logs
  Incarnation log_base{};  // the first of which there is one
  bool is_older_than(const BoardEntry& other) const {
    return incarnation < other.incarnation || (incarnation == other.incarnation && state < other.state);
  }
};

// What the head has told all agents, in one order. An agent has heard a beginning of it: so nobody keeps what it says of all ranks.
class Told {
 public:
  std::uint64_t add(Rank rank, const BoardEntry& entry);  // its number, from 1
  // Null: nothing, up to there.
  const BoardEntry* newest(Rank rank, std::uint64_t heard) const;

 private:
  std::unordered_map<Rank, std::vector<std::pair<std::uint64_t, BoardEntry>>> by_rank_;  // each newer than the one before, or as new
  std::uint64_t count_ = 0;
};

}  // namespace hf::sim::job
