#include "daemon/segment_pool.hpp"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>

#include "os/memory_file.hpp"

namespace hf::daemon {
namespace {

constexpr std::uint64_t touched_at_once = 256 << 10;  // some 100 us
constexpr std::int64_t pause_ns = 20'000'000;  // between two of them, where every core is taken

}  // namespace

SegmentPool::~SegmentPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wanted_.notify_all();
  if (helper_.joinable()) helper_.join();
}

void SegmentPool::start(bool cores_are_taken) {
  if (helper_.joinable()) return;
  cores_are_taken_ = cores_are_taken;
  helper_ = std::thread([this] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    fill();
  });
}

void SegmentPool::touch(int fd) {
  for (std::uint64_t at = 0; at < segment_bytes_ && !stopping_; at += touched_at_once) {
    os::touch(fd, at, std::min(touched_at_once, segment_bytes_ - at));
    timespec pause{0, pause_ns};
    if (cores_are_taken_) ::nanosleep(&pause, nullptr);
  }
}

void SegmentPool::fill() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wanted_.wait(lock, [&] { return stopping_ || ready_.size() < ready_max_; });
    if (stopping_) return;
    lock.unlock();
    Result<os::UniqueFd> file = os::make_memory_file("holdfast-log", segment_bytes_);
    if (file) touch(file->get());
    lock.lock();
    if (!file) return;  // no memory: take() reports it when one is asked for
    ready_.push_back(std::move(*file));
  }
}

Result<os::UniqueFd> SegmentPool::take() {
  {
    std::unique_lock lock(mutex_, std::try_to_lock);  // the helper may have it, and no core
    if (lock && !ready_.empty()) {
      os::UniqueFd out = std::move(ready_.back());
      ready_.pop_back();
      wanted_.notify_one();
      return out;
    }
  }
  return os::make_memory_file("holdfast-log", segment_bytes_);
}

}  // namespace hf::daemon
