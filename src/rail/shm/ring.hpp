// The shared-memory rail: one ring of cells for each ordered pair of incarnations. The ring lies in the writer's control
// segment and only the writer stores into it; how far the reader has come stands in the reader's. A frame takes one
// cell, or several: the first cell's number is stored last, so a reader sees a whole frame or none (design rule 9).
//
// Cell: u64 number of the cell + 1, then 248 bytes. First cell of a frame: header (56) and up to 192 payload bytes.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "segment/control.hpp"
#include "wire/frame.hpp"

namespace hf::rail::shm {

using segment::cell_bytes;
using segment::ring_cells;

inline constexpr std::size_t cell_data_bytes = cell_bytes - 8;
inline constexpr std::size_t first_payload_bytes = cell_data_bytes - sizeof(wire::FrameHeader);
inline constexpr std::size_t ring_payload_max = 8192;  // larger payloads go by rendezvous, or in pieces

constexpr std::uint64_t cells_for(std::uint64_t payload) {
  return payload <= first_payload_bytes ? 1 : 1 + (payload - first_payload_bytes + cell_data_bytes - 1) / cell_data_bytes;
}
inline constexpr std::size_t frame_pieces_max = cells_for(ring_payload_max);

class RingWriter {
 public:
  RingWriter() = default;
  explicit RingWriter(std::uint64_t first_cell) : next_(first_cell) {}
  // Opens the ring to an incarnation of the reader; what stands before `position` in the log comes from the log.
  void open(segment::ControlView own, Rank reader, Incarnation reader_incarnation, std::uint64_t position) {
    cells_ = own.ring(reader);
    taken_ = next_;
    auto& opening = own.opening(reader);
    segment::store_release(opening.reader_plus_1, std::uint64_t{0});
    segment::store_release(opening.first_cell, next_);
    segment::store_release(opening.position, position);
    segment::store_release(opening.reader_plus_1, std::uint64_t{reader_incarnation.value} + 1);
  }
  bool is_open() const { return cells_ != nullptr; }
  void close() { cells_ = nullptr; }

  // Offers one frame; `fill(offset, out)` writes payload bytes. False: no room, nothing was written.
  template <class Fill>
  bool send(const wire::FrameHeader& header, const segment::Inbound& progress, Incarnation own, Fill&& fill) {
    std::uint64_t payload = wire::payload_on_rail(header);
    std::uint64_t cells = cells_for(payload);
    if (next_ + cells - taken_ > ring_cells) {
      refresh(progress, own);
      if (next_ + cells - taken_ > ring_cells) return false;
    }
    std::uint64_t first = std::min<std::uint64_t>(payload, first_payload_bytes);
    std::byte* cell = at(next_);
#ifdef HOLDFAST_MUTATE_PUBLISH_EARLY
    segment::store_release(*reinterpret_cast<std::uint64_t*>(cell), next_ + 1);
#endif
    std::memcpy(cell + 8, &header, sizeof(header));
    if (first) fill(std::uint64_t{0}, MutableBytes(cell + 8 + sizeof(header), first));
    std::uint64_t done = first;
    for (std::uint64_t i = 1; i < cells; ++i) {
      std::uint64_t here = std::min<std::uint64_t>(payload - done, cell_data_bytes);
      fill(done, MutableBytes(at(next_ + i) + 8, here));
      done += here;
    }
    segment::store_release(*reinterpret_cast<std::uint64_t*>(cell), next_ + 1);
    next_ += cells;
    return true;
  }

 private:
  std::byte* at(std::uint64_t cell) { return cells_ + (cell % ring_cells) * cell_bytes; }
  void refresh(const segment::Inbound& progress, Incarnation own) {
    std::uint64_t word = segment::load_acquire(progress.taken);
    if (!segment::inbound_is_of(word, own)) return;
    constexpr std::uint64_t mask = segment::taken_mask;
    // The word holds the low 40 bits of the count; the count is within a ring of next_.
    std::uint64_t behind = (next_ - (word & mask)) & mask;
    if (behind <= ring_cells) taken_ = std::max(taken_, next_ - behind);
  }

  std::byte* cells_ = nullptr;
  std::uint64_t next_ = 0;   // number of the next cell to write, for ever rising over all readers
  std::uint64_t taken_ = 0;  // what the reader is known to have taken
};

// A frame in place; views are valid until RingReader::release.
struct RingFrame {
  wire::FrameHeader header;
  std::array<Bytes, frame_pieces_max> pieces;
  std::size_t piece_count = 0;
};

class RingReader {
 public:
  RingReader() = default;
  // True once the writer has opened the ring to this incarnation; `position` is then the opening's.
  bool attach(segment::ControlView writer, Rank self, Incarnation self_incarnation, std::uint64_t& position) {
    const auto& opening = writer.opening(self);
    if (segment::load_acquire(opening.reader_plus_1) != std::uint64_t{self_incarnation.value} + 1) return false;
    next_ = segment::load_acquire(opening.first_cell);
    position = segment::load_acquire(opening.position);
    cells_ = writer.ring(self);
    published_ = next_;
    return true;
  }
  bool is_open() const { return cells_ != nullptr; }
  void close() { cells_ = nullptr; }

  bool ready() const {
    return segment::load_acquire(*reinterpret_cast<const std::uint64_t*>(at(next_))) == next_ + 1;
  }
  // The next frame. False: none. An implausible length (a damaged ring) is cut to what a ring can hold.
  bool peek(RingFrame& frame) {
    if (!ready()) return false;
    const std::byte* cell = at(next_);
    std::memcpy(&frame.header, cell + 8, sizeof(frame.header));
    std::uint64_t payload = std::min<std::uint64_t>(wire::payload_on_rail(frame.header), ring_payload_max);
    frame.piece_count = 0;
    std::uint64_t first = std::min<std::uint64_t>(payload, first_payload_bytes);
    if (first) frame.pieces[frame.piece_count++] = Bytes(cell + 8 + sizeof(frame.header), first);
    for (std::uint64_t done = first, i = 1; done < payload; ++i) {
      std::uint64_t here = std::min<std::uint64_t>(payload - done, cell_data_bytes);
      frame.pieces[frame.piece_count++] = Bytes(at(next_ + i) + 8, here);
      done += here;
    }
    cells_of_frame_ = cells_for(payload);
    return true;
  }
  void release() { next_ += cells_of_frame_; }
  // Tells the writer what was taken; cheap when nothing was.
  void publish(segment::Inbound& own, Incarnation writer, std::uint64_t every = 1) {
    if (next_ - published_ < every) return;
    published_ = next_;
    segment::store_release(own.taken, segment::inbound_word(writer, next_));
  }

 private:
  const std::byte* at(std::uint64_t cell) const { return cells_ + (cell % ring_cells) * cell_bytes; }
  const std::byte* cells_ = nullptr;
  std::uint64_t next_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t cells_of_frame_ = 0;
};

}  // namespace hf::rail::shm
