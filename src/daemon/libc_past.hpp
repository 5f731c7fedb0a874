// Of a rank's events those of the C library, in a file for its next incarnation's recorder: those of files first. Made in steps, since there
// may be gigabytes and an agent must not be silent meanwhile.
#pragma once
#include "daemon/segments.hpp"

namespace hf::daemon {

class LibcPast {
 public:
  LibcPast(SegmentStore& segments, int rank) : segments_(segments), rank_(rank), end_(segments.event_extent(rank).end) {}

  // Goes on for about so many bytes of the rank's stream. True: it is done.
  Result<bool> step(std::uint64_t bytes);
  int file() const { return file_.get(); }  // read-only
  const wire::PastInfo& info() const { return info_; }

 private:
  enum class Pass { counting, copying };
  void take(Bytes events);
  Result<> make_file();
  Result<> finish();

  SegmentStore& segments_;
  int rank_;
  std::uint64_t position_ = 0, end_;
  Pass pass_ = Pass::counting;
  std::uint64_t of_files_ = 0, others_ = 0;  // bytes; while copying: where the next one goes
  std::uint64_t others_begin_ = 0;
  bool changed_ = false;  // while it was copied
  os::UniqueFd file_;
  os::Mapping mapping_;
  wire::PastInfo info_;
};

}  // namespace hf::daemon
