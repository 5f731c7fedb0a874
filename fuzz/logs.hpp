// Log segments as fuzz inputs: a StreamEntry, then one segment's chunks.
#pragma once
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "fuzz.hpp"
#include "segment/control.hpp"
#include "segment/log_reader.hpp"
#include "segment/log_writer.hpp"

namespace hf::fuzz {

inline constexpr int log_ranks = 2;

struct LogInput : segment::SegmentMap {
  explicit LogInput(Bytes input) {
    std::memcpy(&entry, input.data(), std::min(input.size(), sizeof(entry)));
    if (input.size() > sizeof(entry)) chunks = input.subspan(sizeof(entry));
  }
  Bytes segment(std::uint32_t index) override { return index == 0 ? chunks : Bytes(); }
  segment::StreamEntry entry{};
  Bytes chunks;
};

// Records of random kinds and sizes in stream 0, other records between them; at times one with a wild header that is
// well folded.
inline Octets log_sample(Random& random) {
  constexpr std::size_t chunk_count = 8;
  std::vector<std::uint64_t> control(segment::control_bytes(log_ranks) / 8 + 16);
  auto address = reinterpret_cast<std::uintptr_t>(control.data());
  segment::ControlView view(reinterpret_cast<std::byte*>((address + 63) / 64 * 64), log_ranks);
  Octets memory(chunk_count * segment::chunk_bytes);
  bool given = false;
  segment::LogWriter writer(view, [&] { return std::exchange(given, true) ? MutableBytes() : MutableBytes(memory); });
  std::vector<std::pair<segment::ChunkId, std::uint64_t>> places;
  for (std::uint64_t i = random() % 40; i > 0; --i) {
    wire::FrameHeader header;
    header.kind = random() % 5 ? wire::FrameKind::eager : wire::FrameKind::matched;
    header.length = random() % 4 ? random() % 300 : random() % 40'000;
    int stream = random() % 4 ? 0 : 1;
    if (!writer.reserve(wire::payload_in_log(header))) break;
    segment::Record record = writer.append(stream, header, [](std::uint64_t, MutableBytes out) {
      std::memset(out.data(), 0x5a, out.size());
    });
    if (stream == 0) places.emplace_back(record.chunk, record.position.value);
  }
  writer.publish(0);
  segment::StreamEntry entry = view.stream(0);
  if (random() % 2 && !places.empty()) {
    auto [chunk, position] = places[random() % places.size()];
    std::byte* at = memory.data() + segment::index_of(chunk) * segment::chunk_bytes + segment::chunk_head_bytes +
                    position % segment::chunk_area_bytes;
    wire::FrameHeader header;
    std::memcpy(&header, at, sizeof(header));
    header.kind = static_cast<wire::FrameKind>(1 + random() % 8);
    header.length = random() % 2 ? random() : 0 - random() % 1000;
    header.check = wire::fold(header);
    std::memcpy(at, &header, sizeof(header));
  }
  if (random() % 4 == 0) entry.tail = random() % 2 ? random() : 0 - random() % 1000;
  Octets input;
  ByteWriter out(input);
  out.put(entry);
  out.put_bytes(memory);
  return input;
}

}  // namespace hf::fuzz
