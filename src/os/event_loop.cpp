#include "os/event_loop.hpp"

#include <array>
#include <cerrno>

#include "base/check.hpp"
#include "os/clock.hpp"

namespace hf::os {

EventLoop::EventLoop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  HF_CHECK(epoll_);
}

bool EventLoop::add(int fd, std::uint32_t events, Handler handler) {
  std::uint64_t id = next_id_++;
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return false;
  entries_[id] = std::make_shared<Entry>(Entry{fd, events, std::move(handler)});
  id_of_fd_[fd] = id;
  return true;
}

void EventLoop::modify(int fd, std::uint32_t events) {
  auto found = id_of_fd_.find(fd);
  if (found == id_of_fd_.end()) return;
  Entry& entry = *entries_[found->second];
  if (entry.events == events) return;
  entry.events = events;
  epoll_event event{};
  event.events = events;
  event.data.u64 = found->second;
  HF_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0);
}

void EventLoop::remove(int fd) {
  auto found = id_of_fd_.find(fd);
  if (found == id_of_fd_.end()) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  entries_.erase(found->second);
  id_of_fd_.erase(found);
}

EventLoop::TimerId EventLoop::at(Instant when, std::function<void()> handler) {
  TimerId id = next_id_++;
  timers_.emplace(std::pair(when.value, id), std::move(handler));
  timer_when_[id] = when.value;
  return id;
}

void EventLoop::cancel(TimerId& id) {
  auto found = timer_when_.find(id);
  if (found != timer_when_.end()) {
    timers_.erase({found->second, id});
    timer_when_.erase(found);
  }
  id = 0;
}

int EventLoop::wait_ms() const {
  if (timers_.empty()) return -1;
  std::int64_t left = timers_.begin()->first.first - now().value;
  if (left <= 0) return 0;
  return static_cast<int>(std::min<std::int64_t>((left + millisecond_ns - 1) / millisecond_ns, 1'000'000));
}

void EventLoop::fire_timers() {
  std::int64_t time = now().value;
  while (!stopped_ && !timers_.empty() && timers_.begin()->first.first <= time) {
    auto node = timers_.extract(timers_.begin());
    timer_when_.erase(node.key().second);
    node.mapped()();
  }
}

void EventLoop::run() {
  std::array<epoll_event, 64> events;
  while (!stopped_) {
    int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms());
    HF_CHECK(n >= 0 || errno == EINTR);
    for (int i = 0; i < n && !stopped_; ++i) {
      auto found = entries_.find(events[static_cast<std::size_t>(i)].data.u64);
      if (found == entries_.end()) continue;  // removed by an earlier handler of this round
      std::shared_ptr<Entry> entry = found->second;
      entry->handler(events[static_cast<std::size_t>(i)].events);
    }
    fire_timers();
  }
  stopped_ = false;
}

}  // namespace hf::os
