#include "segment/log_reader.hpp"

#include <algorithm>

namespace hf::segment {

const std::byte* LogReader::chunk(ChunkId id, std::uint64_t base) {
  Bytes whole = segments_->segment(segment_of(id));
  std::size_t offset = std::size_t{index_of(id)} * chunk_bytes;
  if (offset + chunk_bytes > whole.size()) return nullptr;
  const auto* head = reinterpret_cast<const ChunkHead*>(whole.data() + offset);
  if (head->base != base || head->stream != stream_) return nullptr;
  return whole.data() + offset;
}

bool LogReader::step() {
  if (!started_) {
    chunk_ = load_relaxed(entry_->first_chunk);
    base_ = 0;
    started_ = true;
  }
  while (position_ >= base_ + chunk_area_bytes) {
    const std::byte* c = chunk(chunk_, base_);
    if (!c) {
      damaged_ = true;
      return false;
    }
    chunk_ = load_relaxed(reinterpret_cast<const ChunkHead*>(c)->next);
    base_ += chunk_area_bytes;
  }
  return true;
}

bool LogReader::load(std::uint64_t position, ChunkId id, std::uint64_t end, Record& record) {
  std::uint64_t base = position / chunk_area_bytes * chunk_area_bytes;
  const std::byte* c = chunk(id, base);
  if (!c || position % record_align != 0 || position >= end || end - position < sizeof(wire::FrameHeader)) return false;
  std::memcpy(&record.header, c + chunk_head_bytes + (position - base), sizeof(wire::FrameHeader));
  record.position = StreamPosition{position};
  record.chunk = id;
  record.near = {};
  if (record.header.check != wire::fold(record.header) || record.header.position != position) return false;
  // The lesser of what is published and a bound under which no sum of positions wraps around, whatever the tail says.
  constexpr std::uint64_t payload_max = std::uint64_t{1} << 60;
  return wire::plausible(record.header, ranks_, std::min(end - position - sizeof(wire::FrameHeader), payload_max));
}

bool LogReader::next(Record& record) {
  std::uint64_t end = published();
  if (damaged_ || position_ >= end || !step()) return false;
  if (!load(position_, chunk_, end, record)) {
    damaged_ = true;
    return false;
  }
  position_ += padded(sizeof(wire::FrameHeader) + wire::payload_in_log(record.header));
  return true;
}

bool LogReader::at(StreamPosition position, ChunkId id, Record& record) {
  return load(position.value, id, published(), record);
}

void LogReader::seek(StreamPosition position) {
  Record skipped;
  while (position_ < position.value && next(skipped)) {
  }
}

bool LogReader::pieces(const Record& record, std::uint64_t offset, std::uint64_t n, std::vector<Bytes>& out) {
  if (offset > record.header.length || n > record.header.length - offset) return false;
  std::uint64_t at = record.position.value + sizeof(wire::FrameHeader) + offset;
  std::uint64_t base = record.position.value / chunk_area_bytes * chunk_area_bytes;
  ChunkId id = record.chunk;
  if (record.near.base != UINT64_MAX && record.near.base <= at) {
    base = record.near.base;
    id = record.near.chunk;
  }
  while (n > 0) {
    const std::byte* c = chunk(id, base);
    if (!c) return false;
    record.near = {id, base};
    if (at >= base + chunk_area_bytes) {
      id = load_relaxed(reinterpret_cast<const ChunkHead*>(c)->next);
      base += chunk_area_bytes;
      continue;
    }
    std::uint64_t here = std::min<std::uint64_t>(n, base + chunk_area_bytes - at);
    const std::byte* start = c + chunk_head_bytes + (at - base);
    out.emplace_back(start, here);
    at += here;
    n -= here;
  }
  return true;
}

bool LogReader::copy(const Record& record, std::uint64_t offset, MutableBytes out) {
  std::vector<Bytes> views;
  if (!pieces(record, offset, out.size(), views)) return false;
  std::size_t done = 0;
  for (Bytes view : views) {
    std::memcpy(out.data() + done, view.data(), view.size());
    done += view.size();
  }
  return true;
}

bool LogReader::read_raw(MutableBytes out) {
  std::uint64_t end = published();
  if (damaged_ || position_ > end || out.size() > end - position_) return false;
  std::size_t done = 0;
  while (done < out.size()) {
    if (!step()) return false;
    const std::byte* c = chunk(chunk_, base_);
    if (!c) {
      damaged_ = true;
      return false;
    }
    std::size_t here = std::min<std::size_t>(out.size() - done, base_ + chunk_area_bytes - position_);
    std::memcpy(out.data() + done, c + chunk_head_bytes + (position_ - base_), here);
    done += here;
    position_ += here;
  }
  return true;
}

}  // namespace hf::segment
