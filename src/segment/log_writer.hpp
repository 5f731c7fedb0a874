// Writes the log streams of one incarnation. One thread. A record is appended first and published later, when the
// protocol allows readers to see it (design rule 3); the last store of a publication is the stream's tail.
#pragma once
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/cache.hpp"
#include "base/ids.hpp"
#include "segment/control.hpp"
#include "segment/log_layout.hpp"
#include "segment/log_reader.hpp"
#include "wire/frame.hpp"

namespace hf::segment {

// Where new, zeroed, writable segments come from: the agent. Empty when memory and disk are exhausted.
using SegmentSource = std::function<MutableBytes()>;

class LogWriter : public SegmentMap {
 public:
  // `on_short`: room is short, and streams may be dropped from before a segment is asked for.
  LogWriter(ControlView control, SegmentSource source, std::function<void()> on_short = {})
      : control_(control), source_(std::move(source)), on_short_(std::move(on_short)) {
    streams_.resize(static_cast<std::size_t>(control.ranks()) + 1);
  }

  // Room for a record with this payload, and for as many chunks more, asking for segments as needed. False: exhausted;
  // nothing was changed.
  bool reserve(std::uint64_t payload_bytes, std::uint64_t spare_chunks = 0);
  // It is there already.
  bool has_room(std::uint64_t payload_bytes, std::uint64_t spare_chunks) const {
    return available_ >= chunks_for(payload_bytes) + spare_chunks;
  }
  bool reserve_raw(int stream, std::uint64_t bytes) { return fits_raw(stream, bytes) || reserve(bytes); }

  // Appends header (its `position` and `check` are filled in) and payload; `fill(offset, out)` writes payload bytes.
  // The caller has called reserve. Returns where the record stands. Not visible before publish().
  template <class Fill>
  Record append(int stream, wire::FrameHeader header, Fill&& fill) {
    Stream& s = streams_[static_cast<std::size_t>(stream)];
    std::uint64_t n = wire::payload_in_log(header);
    std::uint64_t bytes = padded(sizeof(header) + n);
    announce_early(stream, bytes);
    if (bytes <= s.room) return append_whole(s, header, n, bytes, fill);
    Record record = begin(stream, header);
    fill_record(stream, header, fill);
    return record;
  }
  // The same for a payload at hand and a record that fits what is left of the stream's chunk.
  bool fits(int stream, std::uint64_t payload_bytes) const {
    return padded(sizeof(wire::FrameHeader) + payload_bytes) <= streams_[static_cast<std::size_t>(stream)].room;
  }
  [[gnu::always_inline]] void append_at_once(int stream, wire::FrameHeader& header, const std::byte* payload) {
    Stream& s = streams_[static_cast<std::size_t>(stream)];
    std::uint64_t bytes = padded(sizeof(header) + header.length);
    announce_early(stream, bytes);
    write_header(s, header);
    copy_short(s.at, payload, header.length);
    end_whole(s, bytes);
  }
  // Its two halves; nothing may come between them in this stream.
  Record begin(int stream, wire::FrameHeader& header);
  template <class Fill>
  void fill_record(int stream, const wire::FrameHeader& header, Fill&& fill) {
    std::uint64_t offset = 0, n = wire::payload_in_log(header);
    while (offset < n) {
      MutableBytes out = area(stream, n - offset);
      fill(offset, out);
      advance(stream, out.size());
      offset += out.size();
    }
    finish(stream);
  }
  [[gnu::always_inline]] void append_raw(int stream, Bytes bytes) {  // after reserve_raw
    Stream& s = streams_[static_cast<std::size_t>(stream)];
    announce_early(stream, bytes.size());
    if (bytes.size() > s.room) return append_raw_pieces(stream, bytes);
    copy_short(s.at, bytes.data(), bytes.size());
    end_raw(s, bytes.size());
  }

  std::uint64_t appended(int stream) const { return streams_[static_cast<std::size_t>(stream)].tail; }
  void publish(int stream) {
    store_release(control_.stream(stream).tail, streams_[static_cast<std::size_t>(stream)].tail);
  }

  // Published for those who ask the agent only once events of this extent are stable. `stable`: the same of what is so now.
  void publish_gated(int stream, std::uint64_t events, TestClock failed, std::uint64_t stable_events, TestClock stable_failed);
  void publish_to(int stream, std::uint64_t position) { store_release(control_.stream(stream).tail, position); }
  std::uint64_t published(int stream) const { return load_relaxed(control_.stream(stream).tail); }

  Bytes segment(std::uint32_t index) override {
    return index < segments_.size() ? Bytes(segments_[index]) : Bytes();
  }
  // Gives a stream's chunks back; the stream can no longer be read or appended to. For receivers declared unprotected.
  void release(int stream);
  // Nobody needs what stands before this position of a sender log any more: gives the chunks that end there or before back.
  void drop_before(int stream, std::uint64_t position);
  std::uint64_t bytes_held() const { return held_chunks_ * chunk_bytes; }

 private:
  // One chunk more than the bytes need: the current chunk of the stream may be full.
  static std::uint64_t chunks_for(std::uint64_t payload_bytes) {
    return (payload_bytes + sizeof(wire::FrameHeader)) / chunk_area_bytes + 2;
  }
  struct Stream {
    std::uint64_t tail = 0;  // appended, not necessarily published
    ChunkId chunk = 0;       // of the tail, when tail is inside one
    std::byte* at = nullptr;  // the tail, when room > 0
    std::uint64_t room = 0;   // from there to the end of the chunk's area
    std::vector<ChunkId> chunks;
    std::uint64_t dropped = 0;     // chunks that stood before them
    std::uint64_t record_end = 0;  // of the record that was begun last
    bool released = false;
  };
  // Nothing, but in the build that must be seen to be wrong.
  void announce_early([[maybe_unused]] int stream, [[maybe_unused]] std::uint64_t bytes) {
#ifdef HOLDFAST_MUTATE_PUBLISH_EARLY
    store_release(control_.stream(stream).tail, appended(stream) + bytes);
#endif
  }
  // The usual case: the record fits what is left of the chunk.
  template <class Fill>
  Record append_whole(Stream& stream, wire::FrameHeader& header, std::uint64_t n, std::uint64_t bytes, Fill&& fill) {
    write_header(stream, header);
    if (n > 0) fill(std::uint64_t{0}, MutableBytes(stream.at, n));
    end_whole(stream, bytes);
    return {header, StreamPosition{header.position}, stream.chunk, {}};
  }
  [[gnu::always_inline]] static void write_header(Stream& stream, wire::FrameHeader& header) {
    header.position = stream.tail;
    header.check = wire::fold(header);
    wire::store(header, stream.at);
    move(stream, sizeof(header));
  }
  // The header and the payload of a record of so many bytes are written.
  static void end_whole(Stream& stream, std::uint64_t bytes) {
    move(stream, bytes - sizeof(wire::FrameHeader));
    // Nobody has these lines yet: they come while the program computes, and not when the next record is written.
    prefetch_for_writing(stream.at);
    prefetch_for_writing(stream.at + line_bytes);
  }
  bool fits_raw(int stream, std::uint64_t bytes) const { return bytes <= streams_[static_cast<std::size_t>(stream)].room; }
  void append_raw_pieces(int stream, Bytes bytes);
  static void end_raw(Stream& stream, std::uint64_t bytes) {
    move(stream, bytes);
    prefetch_for_writing(stream.at + line_bytes);
  }
  static void move(Stream& stream, std::uint64_t bytes) {
    stream.tail += bytes;
    stream.at += bytes;
    stream.room -= bytes;
  }
  MutableBytes area(int stream, std::uint64_t want);
  void advance(int stream, std::uint64_t bytes);
  void finish(int stream);
  void next_chunk(int stream, std::uint64_t first_record);
  std::byte* chunk(ChunkId id) {
    return segments_[segment_of(id)].data() + std::size_t{index_of(id)} * chunk_bytes;
  }

  ControlView control_;
  SegmentSource source_;
  std::function<void()> on_short_;
  std::vector<MutableBytes> segments_;
  std::vector<ChunkId> free_;
  std::uint32_t used_in_last_ = 0;  // chunks handed out of the last segment
  std::uint64_t available_ = 0;     // chunks not handed out, free list included
  std::uint64_t held_chunks_ = 0;
  std::vector<Stream> streams_;
};

}  // namespace hf::segment
