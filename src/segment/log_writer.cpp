#include "segment/log_writer.hpp"

#include <algorithm>
#include <atomic>

#include "base/check.hpp"

namespace hf::segment {

bool LogWriter::reserve(std::uint64_t payload_bytes, std::uint64_t spare_chunks) {
  const std::uint64_t need = chunks_for(payload_bytes) + spare_chunks;
  if (available_ < need && on_short_) on_short_();
  while (available_ < need) {
    MutableBytes segment = source_();
    if (segment.size() < chunk_bytes) return false;
    segments_.push_back(segment);
    // What was left of the previous segment stays usable through the free list.
    if (segments_.size() > 1) {
      std::uint32_t previous = static_cast<std::uint32_t>(segments_.size()) - 2;
      std::size_t total = std::min(segments_[previous].size() / chunk_bytes, chunks_per_segment_max);
      for (auto i = static_cast<std::uint32_t>(total); i > used_in_last_; --i) free_.push_back(chunk_id(previous, i - 1));
    }
    used_in_last_ = 0;
    available_ += std::min(segment.size() / chunk_bytes, chunks_per_segment_max);
  }
  return true;
}

void LogWriter::next_chunk(int index, std::uint64_t first_record) {
  Stream& stream = streams_[static_cast<std::size_t>(index)];
  ChunkId id;
  HF_CHECK(available_ > 0 && !stream.released);
  if (!free_.empty()) {
    id = free_.back();
    free_.pop_back();
  } else {
    id = chunk_id(static_cast<std::uint32_t>(segments_.size()) - 1, used_in_last_++);
  }
  --available_;
  ++held_chunks_;
  auto* head = reinterpret_cast<ChunkHead*>(chunk(id));
  store_relaxed(head->base, stream.tail);
  std::atomic_thread_fence(std::memory_order_release);  // before what is written over is
  store_relaxed(head->stream, static_cast<std::uint32_t>(index));
  store_relaxed(head->next, ChunkId{0});
  store_relaxed(head->first_record, first_record);
  if (stream.chunks.empty()) {
    store_relaxed(control_.stream(index).first, first_chunk_word(stream.dropped, id));
  } else {
    store_relaxed(reinterpret_cast<ChunkHead*>(chunk(stream.chunk))->next, id);
  }
  stream.chunk = id;
  stream.chunks.push_back(id);
  stream.at = chunk(id) + chunk_head_bytes;
  stream.room = chunk_area_bytes;
}

MutableBytes LogWriter::area(int index, std::uint64_t want) {
  Stream& stream = streams_[static_cast<std::size_t>(index)];
  if (stream.room == 0) next_chunk(index, stream.record_end);
  return {stream.at, std::min(want, stream.room)};
}

void LogWriter::advance(int index, std::uint64_t bytes) { move(streams_[static_cast<std::size_t>(index)], bytes); }

Record LogWriter::begin(int index, wire::FrameHeader& header) {
  Stream& stream = streams_[static_cast<std::size_t>(index)];
  if (stream.room == 0) next_chunk(index, stream.tail);
  stream.record_end = stream.tail + padded(sizeof(header) + wire::payload_in_log(header));
  write_header(stream, header);
  return {header, StreamPosition{header.position}, stream.chunk, {}};
}

void LogWriter::finish(int index) {
  Stream& stream = streams_[static_cast<std::size_t>(index)];
  move(stream, padded(stream.tail) - stream.tail);  // the area's size is a multiple of record_align: never past its end
}

void LogWriter::append_raw_pieces(int index, Bytes bytes) {
  while (!bytes.empty()) {
    MutableBytes out = area(index, bytes.size());
    std::memcpy(out.data(), bytes.data(), out.size());
    advance(index, out.size());
    bytes = bytes.subspan(out.size());
  }
}

void LogWriter::publish_gated(int stream, std::uint64_t events, TestClock failed, std::uint64_t stable_events, TestClock stable_failed) {
  StreamEntry& entry = control_.stream(stream);
  if (entry.needs_events <= stable_events && entry.needs_failed <= stable_failed.value) store_release(entry.gated_from, entry.tail);
  store_release(entry.needs_failed, failed.value);
  store_release(entry.needs_events, events);
  publish(stream);
}

void LogWriter::drop_before(int index, std::uint64_t position) {
  Stream& stream = streams_[static_cast<std::size_t>(index)];
#ifdef HOLDFAST_MUTATE_DROP_ONE_MORE
  const std::uint64_t whole = std::min(position, stream.tail) / chunk_area_bytes + 1;
#else
  const std::uint64_t whole = std::min(position, stream.tail) / chunk_area_bytes;
#endif
  if (stream.released || stream.chunks.size() < 2 || whole <= stream.dropped) return;
  // The last chunk stays: the next one is told in its head.
  const std::uint64_t count = std::min<std::uint64_t>(whole - stream.dropped, stream.chunks.size() - 1);
  const auto end = stream.chunks.begin() + static_cast<std::ptrdiff_t>(count);
  store_release(control_.stream(index).first, first_chunk_word(stream.dropped + count, *end));
  free_.insert(free_.end(), stream.chunks.begin(), end);
  stream.chunks.erase(stream.chunks.begin(), end);
  stream.dropped += count;
  available_ += count;
  held_chunks_ -= count;
}

void LogWriter::release(int index) {
  Stream& stream = streams_[static_cast<std::size_t>(index)];
  store_release(control_.stream(index).released, std::uint32_t{1});
  available_ += stream.chunks.size();
  held_chunks_ -= stream.chunks.size();
  free_.insert(free_.end(), stream.chunks.rbegin(), stream.chunks.rend());
  stream.chunks.clear();
  stream.released = true;
  stream.room = 0;
}

}  // namespace hf::segment
