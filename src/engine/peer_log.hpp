// The segments of one incarnation of a rank of this node, mapped on first use, readable whether it lives or not.
#pragma once
#include <vector>

#include "engine/agent_link.hpp"
#include "segment/control.hpp"
#include "segment/log_reader.hpp"

namespace hf::engine {

class PeerLog : public segment::SegmentMap {
 public:
  PeerLog(AgentLink& agent, Rank rank, Incarnation incarnation) : agent_(agent), rank_(rank), incarnation_(incarnation) {}
  // False: there is no such incarnation on this node (yet).
  bool open();
  bool is_open() const { return static_cast<bool>(control_); }
  segment::ControlView control() const {
    return segment::ControlView(control_.bytes().data(), agent_.welcome().rank_count);
  }
  // True once the incarnation has begun (its segment says who it is).
  bool started() const { return is_open() && control().valid(rank_, incarnation_); }
  Bytes segment(std::uint32_t index) override;
  segment::LogReader reader(int stream) {
    int ranks = agent_.welcome().rank_count;
    return segment::LogReader(*this, control().stream(stream), static_cast<std::uint32_t>(stream), ranks);
  }
  Incarnation incarnation() const { return incarnation_; }
  std::uint64_t asked_at = 0;  // epoch of the board, plus 1, at which the agent was last asked for it; 0: never

 private:
  AgentLink& agent_;
  Rank rank_;
  Incarnation incarnation_;
  os::Mapping control_;
  std::vector<os::Mapping> segments_;
};

}  // namespace hf::engine
