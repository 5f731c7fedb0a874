#include "core/vprotocol/events.hpp"

namespace hf::core::vprotocol {

std::size_t whole_events(Bytes stream) {
  std::size_t at = 0;
  for (EventHead head; stream.size() - at >= sizeof(head); at += encoded_bytes(head)) {
    std::memcpy(&head, stream.data() + at, sizeof(head));
    if (encoded_bytes(head) > stream.size() - at) break;
  }
  return at;
}

void encode(std::vector<std::byte>& out, const EventHead& head, std::span<const std::int32_t> indices) {
  std::size_t start = out.size();
  out.resize(start + encoded_bytes(head));
  std::memcpy(out.data() + start, &head, sizeof(head));
  if (!indices.empty()) std::memcpy(out.data() + start + sizeof(head), indices.data(), indices.size_bytes());
}

}  // namespace hf::core::vprotocol
