// For tests: a control segment and log segments in plain memory, with the writer that fills them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "segment/control.hpp"
#include "segment/log_writer.hpp"

namespace hf::segment {

class TestLog {
 public:
  // Segments of so many chunks, at most `segments_max` of them; `margin` bytes too small for a chunk stand behind.
  TestLog(int ranks, std::size_t chunks, std::size_t segments_max = 1000, std::size_t margin = 0)
      : memory_(control_bytes(ranks) + 64), view_(aligned(memory_.data()), ranks) {
    writer_ = std::make_unique<LogWriter>(view_, [=, this] {
      if (segments_.size() == segments_max) return MutableBytes();
      std::size_t bytes = chunks * chunk_bytes + margin;
      segments_.emplace_back(bytes + 64);
      return MutableBytes(aligned(segments_.back().data()), bytes);
    });
  }
  TestLog(const TestLog&) = delete;
  TestLog& operator=(const TestLog&) = delete;

  ControlView control() const { return view_; }
  LogWriter& writer() { return *writer_; }
  LogReader reader(int stream) { return reader(*writer_, stream); }
  LogReader reader(SegmentMap& segments, int stream) {
    return LogReader(segments, view_.stream(stream), static_cast<std::uint32_t>(stream), view_.ranks());
  }
  std::size_t segment_count() const { return segments_.size(); }
  MutableBytes segment(std::size_t index) { return {aligned(segments_[index].data()), segments_[index].size() - 64}; }

 private:
  static std::byte* aligned(std::byte* p) {
    return reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(p) + 63) / 64 * 64);
  }
  std::vector<std::byte> memory_;
  ControlView view_;
  std::vector<std::vector<std::byte>> segments_;
  std::unique_ptr<LogWriter> writer_;
};

}  // namespace hf::segment
