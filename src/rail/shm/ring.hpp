// The shared-memory rail: one ring of cache lines for each ordered pair of incarnations. The ring lies in the writer's
// control segment and only the writer stores into it; how far the reader has come stands in the reader's. A frame is a
// run of lines that does not wrap; its first word, the number of its line + 1, is stored last, so that a reader sees a
// whole frame or none (design rule 9). The word where the next frame will begin is cleared before that, so that nothing
// older is taken for one.
//
// Frame: u64 number, RingHeader (40), u64 offset where the kind has one, payload. docs/frames.md.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/bytes.hpp"
#include "base/cache.hpp"
#include "base/ids.hpp"
#include "segment/control.hpp"
#include "wire/frame.hpp"

namespace hf::rail::shm {

using segment::line_bytes;
using segment::ring_lines;

// A frame's header without what is the same for all frames of a ring.
struct RingHeader {
  std::uint64_t context, sequence, length, position;
  std::int32_t tag;
  wire::FrameKind kind;
  std::uint8_t flags;
  std::uint16_t reserved;
};
static_assert(sizeof(RingHeader) == 40);

inline constexpr std::uint64_t write_ahead_lines = 2;  // so far behind the next frame's first line begins what is fetched for writing
inline constexpr std::uint64_t read_ahead_lines = 12;  // fetched for reading where frames wait
inline constexpr std::uint64_t fetched_lines_max = 64;  // of a frame at once
inline constexpr std::size_t ring_payload_max = 16384;  // larger payloads go by rendezvous, or in pieces
static_assert(2 * (ring_payload_max + 56) <= segment::ring_bytes - line_bytes, "a frame that does not fit before the ring's end must fit after it");
inline constexpr std::uint64_t skip_mark = std::uint64_t{1}
                                           << 63;  // in a number: the next frame is at the ring's start

constexpr bool has_offset(wire::FrameKind kind) {
  return kind == wire::FrameKind::rendezvous || kind == wire::FrameKind::data || kind == wire::FrameKind::clear_to_send;
}
constexpr std::size_t payload_offset(wire::FrameKind kind) {
  return has_offset(kind) ? 56 : 48;
}
constexpr std::uint64_t lines_for(wire::FrameKind kind, std::uint64_t payload) {
  return (payload_offset(kind) + payload + line_bytes - 1) / line_bytes;
}

class RingWriter {
 public:
  RingWriter() = default;
  explicit RingWriter(std::uint64_t first_line) : next_(first_line) {}
  // Opens the ring to an incarnation of the reader; what stands before `position` in the log comes from the log.
  void open(segment::ControlView own, Rank reader, Incarnation reader_incarnation, std::uint64_t position) {
    ring_ = own.ring(reader);
    taken_ = next_;
    auto& opening = own.opening(reader);
    segment::store_release(opening.reader_plus_1, std::uint64_t{0});
    segment::store_release(opening.first_line, next_);
    segment::store_release(opening.position, position);
    segment::store_release(opening.reader_plus_1, std::uint64_t{reader_incarnation.value} + 1);
  }
  bool is_open() const { return ring_ != nullptr; }
  void close() { ring_ = nullptr; }

  // Offers one frame; `fill(out)` writes the payload. False: no room, nothing was written.
  template <class Fill>
  bool send(const wire::FrameHeader& header, const segment::Inbound& progress, Incarnation own, Fill&& fill) {
    if (!has_room(header.kind, wire::payload_on_rail(header), progress, own)) return false;
    put(header, fill);
    return true;
  }
  // The two halves of it: true from the first, and the second may follow.
  bool has_room(wire::FrameKind kind, std::uint64_t payload, const segment::Inbound& progress, Incarnation own) {
    std::uint64_t lines = lines_for(kind, payload);
    // One line more: where the frame after this one will begin.
    return lines_free(skipped_before(lines) + lines + 1, progress, own);
  }
  template <class Fill>
  [[gnu::always_inline]] void put(const wire::FrameHeader& header, Fill&& fill) {
    std::uint64_t payload = wire::payload_on_rail(header);
    std::uint64_t lines = lines_for(header.kind, payload);
    if (std::uint64_t skipped = skipped_before(lines)) skip(skipped);
    std::byte* frame = at(next_);
#ifdef HOLDFAST_MUTATE_PUBLISH_EARLY
    segment::store_release(number(next_), next_ + 1);
#endif
    write_header(frame, header);
    if (payload) fill(MutableBytes(frame + payload_offset(header.kind), payload));
    segment::store_relaxed(number(next_ + lines), std::uint64_t{0});
    segment::store_release(number(next_), next_ + 1);
    next_ += lines;
    fetch_for_writing(lines);
  }

 private:
  // The reader has had these lines: to fetch them one by one, each when it is written, costs more than all the rest of sending.
  void fetch_for_writing(std::uint64_t lines) {
    for (std::uint64_t i = 0; i < lines; ++i) prefetch_for_writing(at(next_ + write_ahead_lines + i));
  }
  // Field by field, as the header was made: a copy of the whole in larger words would wait until all that this core has stored,
  // the lines of earlier frames too, has reached its cache.
  [[gnu::always_inline]] static void write_header(std::byte* frame, const wire::FrameHeader& header) {
    auto* out = reinterpret_cast<RingHeader*>(frame + 8);
    out->context = header.context;
    out->sequence = header.sequence;
    out->length = header.length;
    out->position = header.position;
    out->tag = header.tag;
    out->kind = header.kind;
    out->flags = header.flags;
    out->reserved = 0;
    if (has_offset(header.kind)) *reinterpret_cast<std::uint64_t*>(frame + 48) = header.offset;
  }

  std::byte* at(std::uint64_t line) {
    return ring_ + (line % ring_lines) * line_bytes;
  }
  std::uint64_t& number(std::uint64_t line) {
    return *reinterpret_cast<std::uint64_t*>(at(line));
  }

  // Lines left at the ring's end, when a frame of so many does not fit there.
  std::uint64_t skipped_before(std::uint64_t lines) const {
    std::uint64_t to_end = ring_lines - next_ % ring_lines;
    return lines > to_end ? to_end : 0;
  }

  bool lines_free(std::uint64_t lines, const segment::Inbound& progress, Incarnation own) {
    if (next_ + lines - taken_ <= ring_lines) return true;
    std::uint64_t word = segment::load_acquire(progress.taken);
    // Not of this incarnation of ours: the reader has not attached to this ring yet.
    if (!segment::inbound_is_of(word, own)) return false;
    std::uint64_t ahead = (word - taken_) & segment::taken_mask;
    if (ahead <= next_ - taken_) taken_ += ahead;
    return next_ + lines - taken_ <= ring_lines;
  }

  // No frame fits before the ring's end: the next one begins at its start.
  void skip(std::uint64_t lines) {
    segment::store_relaxed(number(next_ + lines), std::uint64_t{0});
    segment::store_release(number(next_), (next_ + 1) | skip_mark);
    next_ += lines;
  }

  std::byte* ring_ = nullptr;
  std::uint64_t next_ = 0;   // number of the next line to write, for ever rising over all readers
  std::uint64_t taken_ = 0;  // what the reader is known to have taken
};

// A frame in place; the payload's view is valid until RingReader::release.
struct RingFrame {
  wire::FrameHeader header;
  Bytes payload;
};

class RingReader {
 public:
  RingReader() = default;
  // True once the writer has opened the ring to this incarnation; `position` is then the opening's.
  bool attach(segment::ControlView writer, Rank self, Incarnation self_incarnation, std::uint64_t& position) {
    const auto& opening = writer.opening(self);
    if (segment::load_acquire(opening.reader_plus_1) != std::uint64_t{self_incarnation.value} + 1) return false;
    next_ = segment::load_acquire(opening.first_line);
    position = segment::load_acquire(opening.position);
    ring_ = writer.ring(self);
    published_ = next_;
    return true;
  }
  bool is_open() const { return ring_ != nullptr; }
  void close() { ring_ = nullptr; }

  bool ready() const { return frame_at(next_); }
  // The next frame, without source and incarnation, which are the ring's. False: none. An implausible length (a damaged
  // ring) is cut to what the ring holds.
  [[gnu::always_inline]] bool peek(RingFrame& frame) {
    std::uint64_t found = number(next_);
    if (found == ((next_ + 1) | skip_mark)) [[unlikely]] {
      next_ = ring_start(next_);
      found = number(next_);
    }
    if (found != next_ + 1) return false;
    const std::byte* at = line(next_);
    const auto& header = *reinterpret_cast<const RingHeader*>(at + 8);
    frame.header.kind = header.kind;
    frame.header.flags = header.flags;
    frame.header.tag = header.tag;
    frame.header.context = header.context;
    frame.header.sequence = header.sequence;
    frame.header.length = header.length;
    frame.header.position = header.position;
    frame.header.offset = 0;
    if (has_offset(frame.header.kind)) std::memcpy(&frame.header.offset, at + 48, 8);
    std::uint64_t to_end = (ring_lines - next_ % ring_lines) * line_bytes - payload_offset(frame.header.kind);
    std::uint64_t payload = std::min(wire::payload_on_rail(frame.header), std::min(std::uint64_t{ring_payload_max}, to_end));
    frame.payload = Bytes(at + payload_offset(frame.header.kind), payload);
    lines_of_frame_ = lines_for(frame.header.kind, payload);
    // And the first of the next frame, if it is there already.
    const std::uint64_t fetched = std::min(lines_of_frame_, fetched_lines_max);
    for (std::uint64_t i = 1; i <= fetched; ++i) __builtin_prefetch(line(next_ + i));
    return true;
  }
  void release() { next_ += lines_of_frame_; }
  // Frames wait here one behind the other: what lies further on is fetched meanwhile.
  void read_ahead() const { __builtin_prefetch(line(next_ + read_ahead_lines)); }
  // Whether another frame waits behind the one that peek() gave.
  bool has_more() const { return frame_at(next_ + lines_of_frame_); }
  // Tells the writer what was taken; cheap when nothing was.
  void publish(segment::Inbound& own, Incarnation writer, std::uint64_t every = 1) {
    if (next_ - published_ < every) return;
    published_ = next_;
    segment::store_release(own.taken, segment::inbound_word(writer, next_));
  }

 private:
  const std::byte* line(std::uint64_t number) const { return ring_ + (number % ring_lines) * line_bytes; }
  std::uint64_t number(std::uint64_t of) const {
    return segment::load_acquire(*reinterpret_cast<const std::uint64_t*>(line(of)));
  }
  static std::uint64_t ring_start(std::uint64_t after) { return after + ring_lines - after % ring_lines; }
  bool frame_at(std::uint64_t line) const {
    std::uint64_t found = number(line);
    if (found != ((line + 1) | skip_mark)) return found == line + 1;
    std::uint64_t start = ring_start(line);
    return number(start) == start + 1;
  }
  const std::byte* ring_ = nullptr;
  std::uint64_t next_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t lines_of_frame_ = 0;
};

}  // namespace hf::rail::shm
