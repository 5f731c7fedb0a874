// Log segments made and touched ahead of use by a helper thread: a copy into fresh pages is ten times slower.
//
// The helper leaves the cores to the ranks by sleeping, and not by a low priority: a thread that finds no core keeps the locks that it
// holds in the kernel from others, and its process, when killed, from ending.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "os/unique_fd.hpp"

namespace hf::daemon {

class SegmentPool {
 public:
  SegmentPool(std::uint64_t segment_bytes, std::uint64_t ready_bytes)
      : segment_bytes_(segment_bytes), ready_max_(ready_bytes / segment_bytes) {}
  ~SegmentPool();
  void start();  // begins to fill; again: no effect
  // A ready segment, else a fresh one. Never waits for the helper.
  Result<os::UniqueFd> take();

 private:
  void fill();
  void touch(int fd);
  std::uint64_t segment_bytes_, ready_max_;
  std::mutex mutex_;
  std::condition_variable wanted_;
  std::vector<os::UniqueFd> ready_;
  bool stopping_ = false;
  std::int64_t pause_ns_ = 0;  // the helper's, between two pieces
  std::thread helper_;
};

}  // namespace hf::daemon
