#include "engine/peer_log.hpp"

namespace hf::engine {

bool PeerLog::open() {
  if (is_open()) return true;
  control_ = agent_.segment({rank_.value, incarnation_.value, wire::SegmentKind::control, 0});
  if (control_ && control_.bytes().size() < segment::control_bytes(agent_.welcome().rank_count)) control_ = {};
  return is_open();
}

Bytes PeerLog::segment(std::uint32_t index) {
  if (index >= segments_.size()) segments_.resize(index + 1);
  if (!segments_[index]) {
    segments_[index] = agent_.segment({rank_.value, incarnation_.value, wire::SegmentKind::log, index});
  }
  return segments_[index].bytes();
}

}  // namespace hf::engine
