// Layout of log segments: chunks of a fixed size, linked into streams. docs/segments.md.
//
// A stream is an append-only sequence of bytes; its position counts the bytes of chunk areas from 0. A record of a
// sender log is a wire::FrameHeader and its payload, padded to record_align; headers never straddle chunks.
#pragma once
#include <cstddef>
#include <cstdint>

namespace hf::segment {

inline constexpr std::size_t chunk_bytes = 16384;
inline constexpr std::size_t chunk_head_bytes = 64;
inline constexpr std::size_t chunk_area_bytes = chunk_bytes - chunk_head_bytes;
inline constexpr std::size_t record_align = 64;
static_assert(chunk_area_bytes % record_align == 0);

// segment index << 16 | index in the segment
using ChunkId = std::uint32_t;
constexpr ChunkId chunk_id(std::uint32_t segment, std::uint32_t index) { return segment << 16 | index; }
constexpr std::uint32_t segment_of(ChunkId id) { return id >> 16; }
constexpr std::uint32_t index_of(ChunkId id) { return id & 0xffff; }
inline constexpr std::size_t chunks_per_segment_max = 65536;

struct ChunkHead {
  std::uint64_t base;   // stream position of the area's first byte
  std::uint32_t next;   // valid once the stream's tail is past this chunk's area
  std::uint32_t stream;
  std::uint64_t first_record;  // of a sender log: where the first record stands that begins in this area or behind it
};
static_assert(sizeof(ChunkHead) <= chunk_head_bytes);

constexpr std::uint64_t padded(std::uint64_t bytes) { return (bytes + record_align - 1) / record_align * record_align; }

}  // namespace hf::segment
