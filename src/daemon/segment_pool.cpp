#include "daemon/segment_pool.hpp"

#include <signal.h>

#include "os/memory_file.hpp"

namespace hf::daemon {

SegmentPool::~SegmentPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wanted_.notify_all();
  if (helper_.joinable()) helper_.join();
}

void SegmentPool::start() {
  if (helper_.joinable()) return;
  helper_ = std::thread([this] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    fill();
  });
}

void SegmentPool::fill() {
  std::size_t ready_max = std::max<std::uint64_t>(1, ready_bytes / segment_bytes_);
  std::unique_lock lock(mutex_);
  for (;;) {
    wanted_.wait(lock, [&] { return stopping_ || ready_.size() < ready_max; });
    if (stopping_) return;
    lock.unlock();
    Result<os::UniqueFd> file = os::make_memory_file("holdfast-log", segment_bytes_);
    if (file) os::touch(file->get(), segment_bytes_);
    lock.lock();
    if (!file) return;  // no memory: take() reports it when one is asked for
    ready_.push_back(std::move(*file));
  }
}

Result<os::UniqueFd> SegmentPool::take() {
  {
    std::lock_guard lock(mutex_);
    if (!ready_.empty()) {
      os::UniqueFd out = std::move(ready_.back());
      ready_.pop_back();
      wanted_.notify_one();
      return out;
    }
  }
  return os::make_memory_file("holdfast-log", segment_bytes_);
}

}  // namespace hf::daemon
