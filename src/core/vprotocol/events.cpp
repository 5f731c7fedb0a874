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

void EventBuffer::append(const EventHead& head, std::span<const std::int32_t> indices) {
  const std::size_t start = blocks_.size();
  blocks_.resize(start + encoded_bytes(head) / sizeof(EventHead));
  blocks_[start] = head;
  const auto behind = std::as_writable_bytes(std::span(blocks_).subspan(start + 1));
  if (!indices.empty()) std::memcpy(behind.data(), indices.data(), indices.size_bytes());
}

}  // namespace hf::core::vprotocol
