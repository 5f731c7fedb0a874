#include "wire/frame.hpp"

namespace hf::wire {

bool plausible(const FrameHeader& h, int rank_count, std::uint64_t payload_max) {
  if (h.kind < FrameKind::eager || h.kind > FrameKind::credit) return false;
  if (h.flags & ~(flag_synchronous | flag_numbered | flag_logged | flag_exposed)) return false;
  return h.source >= 0 && h.source < rank_count && h.length <= payload_max;
}

std::uint16_t fold(const FrameHeader& h) {
  std::uint64_t x = static_cast<std::uint64_t>(h.kind) | std::uint64_t{h.flags} << 8 | std::uint64_t{h.incarnation} << 16;
  auto mix = [&x](std::uint64_t v) { x = (x ^ v) * 0x9e3779b97f4a7c15u, x ^= x >> 29; };
  mix(static_cast<std::uint32_t>(h.source) | static_cast<std::uint64_t>(static_cast<std::uint32_t>(h.tag)) << 32);
  mix(h.context), mix(h.sequence), mix(h.length), mix(h.offset), mix(h.position);
  return static_cast<std::uint16_t>(x >> 48) | 1;  // never 0: a zero page is never a record
}

}  // namespace hf::wire
