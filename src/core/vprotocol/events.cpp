#include "core/vprotocol/events.hpp"

namespace hf::core::vprotocol {

void encode(std::vector<std::byte>& out, const EventHead& head, std::span<const std::int32_t> indices) {
  std::size_t start = out.size();
  out.resize(start + encoded_bytes(head));
  std::memcpy(out.data() + start, &head, sizeof(head));
  if (!indices.empty()) std::memcpy(out.data() + start + sizeof(head), indices.data(), indices.size_bytes());
}

}  // namespace hf::core::vprotocol
