// Which chunks of an ended incarnation's log segments still hold records: the rest of its memory can be given back.
#pragma once
#include <optional>
#include <vector>

#include "segment/control.hpp"
#include "segment/log_layout.hpp"
#include "segment/log_reader.hpp"

namespace hf::segment {

// The chunks of all streams that were not given back, in no order. Null when a stream is damaged: nothing is known then.
// `chunks_max`: as many as the segments have; a longer walk is damage.
std::optional<std::vector<ChunkId>> live_chunks(ControlView control, SegmentMap& segments, std::size_t chunks_max);

}  // namespace hf::segment
