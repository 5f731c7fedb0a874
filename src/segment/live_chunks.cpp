#include "segment/live_chunks.hpp"

namespace hf::segment {
namespace {

const ChunkHead* head_of(SegmentMap& segments, ChunkId id) {
  Bytes whole = segments.segment(segment_of(id));
  std::size_t offset = std::size_t{index_of(id)} * chunk_bytes;
  if (offset + chunk_bytes > whole.size()) return nullptr;
  return reinterpret_cast<const ChunkHead*>(whole.data() + offset);
}

}  // namespace

std::optional<std::vector<ChunkId>> live_chunks(ControlView control, SegmentMap& segments, std::size_t chunks_max) {
  std::vector<ChunkId> live;
  for (int index = 0; index <= control.ranks(); ++index) {
    const StreamEntry& stream = control.stream(index);
    if (load_acquire(stream.released) != 0) continue;
    std::uint64_t tail = load_acquire(stream.tail);
    const std::uint64_t first = load_acquire(stream.first);
    ChunkId id = chunk_of_word(first);
    for (std::uint64_t base = number_of_word(first) * chunk_area_bytes; base < tail; base += chunk_area_bytes) {
      const ChunkHead* head = head_of(segments, id);
      if (!head || head->base != base || head->stream != static_cast<std::uint32_t>(index) || live.size() == chunks_max) {
        return std::nullopt;
      }
      live.push_back(id);
      id = load_relaxed(head->next);
    }
  }
  return live;
}

}  // namespace hf::segment
