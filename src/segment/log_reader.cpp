#include "segment/log_reader.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace hf::segment {

const std::byte* LogReader::chunk(ChunkId id, std::uint64_t base) {
  Bytes whole = segments_->segment(segment_of(id));
  std::size_t offset = std::size_t{index_of(id)} * chunk_bytes;
  if (offset + chunk_bytes > whole.size()) return nullptr;
  const auto* head = reinterpret_cast<const ChunkHead*>(whole.data() + offset);
  if (load_acquire(head->base) != base || load_relaxed(head->stream) != stream_) return nullptr;
  return whole.data() + offset;
}

bool LogReader::lose() {
  damaged_ = true;
  return false;
}

// At the first chunk that is kept; false: what is to be read stood before it.
bool LogReader::start() {
  first_ = load_acquire(entry_->first);
  chunk_ = chunk_of_word(first_);
  base_ = number_of_word(first_) * chunk_area_bytes;
  started_ = true;
  if (trail_) trail_->assign(1, chunk_);
  return base_ <= position_;
}

bool LogReader::step() {
  if (!started_ && !start()) return lose();
  while (position_ >= base_ + chunk_area_bytes) {
    const std::byte* c = chunk(chunk_, base_);
    if (c) {
      chunk_ = load_relaxed(reinterpret_cast<const ChunkHead*>(c)->next);
      base_ += chunk_area_bytes;
      if (trail_ && base_ / chunk_area_bytes - number_of_word(first_) == trail_->size()) trail_->push_back(chunk_);
      continue;
    }
    // What lies on the way may have been dropped meanwhile.
    if (load_acquire(entry_->first) == first_ || !start()) return lose();
  }
  return true;
}

bool LogReader::load(std::uint64_t position, ChunkId id, std::uint64_t end, Record& record) {
  std::uint64_t base = position / chunk_area_bytes * chunk_area_bytes;
  const std::byte* c = chunk(id, base);
  if (!c || position % record_align != 0 || position >= end || end - position < sizeof(wire::FrameHeader)) return false;
  std::memcpy(&record.header, c + chunk_head_bytes + (position - base), sizeof(wire::FrameHeader));
  // Dropped meanwhile, it may be written over: its head says so before anything else is.
  std::atomic_thread_fence(std::memory_order_acquire);
  if (load_relaxed(reinterpret_cast<const ChunkHead*>(c)->base) != base) return false;
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
  do {
    while (position_ < position.value && next(skipped)) {
    }
  } while (position_ < position.value && skip_dropped(position.value));
}

void LogReader::seek_first() { skip_dropped(UINT64_MAX); }

// True: this stands at a record behind what was dropped, and before `to` or there.
bool LogReader::skip_dropped(std::uint64_t to) {
  for (std::uint64_t word = load_acquire(entry_->first); position_ < number_of_word(word) * chunk_area_bytes;) {
    const std::uint64_t base = number_of_word(word) * chunk_area_bytes;
    const std::byte* c = chunk(chunk_of_word(word), base);
    const std::uint64_t record = c ? load_relaxed(reinterpret_cast<const ChunkHead*>(c)->first_record) : 0;
    const std::uint64_t seen = std::exchange(word, load_acquire(entry_->first));
    if (word != seen) continue;
    if (!c || record < base || record % record_align != 0 || record > to) return false;
    first_ = word;
    chunk_ = chunk_of_word(word);
    base_ = base;
    position_ = record;
    started_ = true;
    damaged_ = false;
    return true;
  }
  return false;
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

void LogReader::seek_raw(std::uint64_t position) {
  position_ = position;
  if (!started_) return;
  const std::uint64_t number = position / chunk_area_bytes, first = number_of_word(first_);
  if (trail_ && number >= first) {
    const std::uint64_t known = std::min<std::uint64_t>(number - first, trail_->size() - 1);
    chunk_ = (*trail_)[known];
    base_ = (first + known) * chunk_area_bytes;
  } else if (position < base_) {
    started_ = false;
  }
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
