#include "wire/frame.hpp"

namespace hf::wire {

bool plausible(const FrameHeader& h, int rank_count, std::uint64_t payload_max, std::uint8_t flags_allowed) {
  if (h.kind < FrameKind::eager || h.kind > FrameKind::dependencies) return false;
  if (h.flags & ~flags_allowed) return false;
  return h.source >= 0 && h.source < rank_count && h.length <= payload_max;
}

}  // namespace hf::wire
