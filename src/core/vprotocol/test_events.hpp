// Event streams for tests.
#pragma once
#include <vector>

#include "core/vprotocol/events.hpp"

namespace hf::core::vprotocol {

inline void encode(std::vector<std::byte>& out, const EventHead& head, std::span<const std::int32_t> indices = {}) {
  EventBuffer buffer;
  buffer.append(head, indices);
  out.insert(out.end(), buffer.bytes().begin(), buffer.bytes().end());
}

}  // namespace hf::core::vprotocol
