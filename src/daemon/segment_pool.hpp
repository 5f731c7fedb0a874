// Log segments made and touched ahead of use by a helper thread: a copy into fresh pages is ten times slower.
//
// The helper leaves the cores to the ranks by sleeping, and not by a low priority: a thread that finds no core keeps the locks that it
// holds in the kernel from others, and its process, when killed, from ending.
#pragma once
#include <atomic>
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
  void set_ready(std::uint64_t ready_bytes) { ready_max_ = ready_bytes / segment_bytes_; }  // before start
  // Begins to fill; again: no effect. `cores_are_taken`: each by a rank, so that the helper works a two-hundredth of the time.
  void start(bool cores_are_taken);
  // A ready segment, else a fresh one. Never waits for the helper.
  Result<os::UniqueFd> take();

 private:
  void fill();
  void touch(int fd);
  std::uint64_t segment_bytes_, ready_max_;
  std::mutex mutex_;
  std::condition_variable wanted_;
  std::vector<os::UniqueFd> ready_;
  std::atomic<bool> stopping_ = false;
  bool cores_are_taken_ = false;
  std::thread helper_;
};

}  // namespace hf::daemon
