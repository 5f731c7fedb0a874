#include "daemon/segment_pool.hpp"

#include <pthread.h>
#include <sched.h>
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

// The ranks have use for every core: segments are made when one is idle.
void SegmentPool::only_when_idle() {
  sched_param none{};
  ::pthread_setschedparam(::pthread_self(), SCHED_IDLE, &none);
}

void SegmentPool::fill() {
  only_when_idle();
  std::unique_lock lock(mutex_);
  for (;;) {
    wanted_.wait(lock, [&] { return stopping_ || ready_.size() < ready_max_; });
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
