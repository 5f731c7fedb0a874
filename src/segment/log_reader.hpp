// Reads one log stream of any incarnation, of a living or a dead rank, without its help. Never trusts what it reads:
// a chunk that does not say it belongs there, or a header that is not plausible, ends the stream with an error.
#pragma once
#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "segment/control.hpp"
#include "segment/log_layout.hpp"
#include "wire/frame.hpp"

namespace hf::segment {

// Where the log segments of one incarnation are mapped. Implementations map on first use.
class SegmentMap {
 public:
  virtual ~SegmentMap() = default;
  // The whole segment, or an empty view when there is none of this index.
  virtual Bytes segment(std::uint32_t index) = 0;
};

struct Record {
  wire::FrameHeader header;
  StreamPosition position{};
  ChunkId chunk = 0;  // the one the header stands in
  // Where the payload that was asked for last ended: what follows is looked for from there.
  struct Near {
    ChunkId chunk = 0;
    std::uint64_t base = UINT64_MAX;  // none yet
  };
  mutable Near near;
};

class LogReader {
 public:
  LogReader() = default;
  // Neither is owned; both must outlive the reader.
  LogReader(SegmentMap& segments, const StreamEntry& entry, std::uint32_t stream, int rank_count)
      : segments_(&segments), entry_(&entry), stream_(stream), ranks_(rank_count) {}

  std::uint64_t position() const { return position_; }
  std::uint64_t published() const { return load_acquire(entry_->tail); }
  bool at_end() const { return position_ >= published(); }
  bool released() const { return load_acquire(entry_->released) != 0; }
  bool damaged() const { return damaged_; }
  // It is kept no more: a checkpoint of the receiver covers it.
  bool dropped(std::uint64_t position) const { return number_of_word(load_acquire(entry_->first)) * chunk_area_bytes > position; }

  // The next record, advancing past it. False at the published end or when damaged.
  bool next(Record& record);
  // Reads the record whose header stands at `position` in `chunk`, without moving. False when there is none.
  bool at(StreamPosition position, ChunkId chunk, Record& record);
  // Advances to the first record at or after `position` without handing them out. Where that was dropped, it is as damaged.
  void seek(StreamPosition position);
  void seek_first();  // that was not dropped
  // The same for a position at which a record stands, or the next will: without looking at those on the way.
  void advance_to(StreamPosition position) {
    if (position.value > position_) position_ = position.value;
  }

  // Payload bytes [offset, offset + n) of a record, as views into the log, appended to `pieces`. False when damaged.
  bool pieces(const Record& record, std::uint64_t offset, std::uint64_t n, std::vector<Bytes>& pieces);
  bool copy(const Record& record, std::uint64_t offset, MutableBytes out);

  // Raw streams (events): moves the cursor; reads n bytes at the cursor; false (and no move) when fewer are published.
  void seek_raw(std::uint64_t position);
  // Of a raw stream: which chunks there were is noted, so that who goes to one does not come from the first. Not owned.
  void keep_trail(std::vector<ChunkId>& trail) { trail_ = &trail; }
  bool read_raw(MutableBytes out);

 private:
  const std::byte* chunk(ChunkId id, std::uint64_t base);
  bool load(std::uint64_t position, ChunkId id, std::uint64_t end, Record& record);
  bool step();  // moves cursor to the next chunk when it stands at the end of one
  bool start();
  bool lose();
  bool skip_dropped(std::uint64_t to);

  SegmentMap* segments_ = nullptr;
  const StreamEntry* entry_ = nullptr;
  std::uint32_t stream_ = 0;
  int ranks_ = 0;
  std::uint64_t position_ = 0;
  bool started_ = false;
  std::uint64_t first_ = 0;  // StreamEntry::first, when started_
  ChunkId chunk_ = 0;        // the chunk of position_, when started_
  std::uint64_t base_ = 0;   // position of its area
  bool damaged_ = false;
  std::vector<ChunkId>* trail_ = nullptr;  // from the first chunk on, that of first_
};

}  // namespace hf::segment
