// A poll loop over descriptors (epoll, level-triggered) and timers. One thread. Handlers may add and remove descriptors
// and timers, their own too.
#pragma once
#include <sys/epoll.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "os/unique_fd.hpp"

namespace hf::os {

class EventLoop {
 public:
  using Handler = std::function<void(std::uint32_t events)>;  // EPOLLIN ...
  using TimerId = std::uint64_t;                              // 0: none

  EventLoop();
  // False when the descriptor cannot be polled (a regular file). The descriptor stays the caller's, who removes it
  // before closing it.
  bool add(int fd, std::uint32_t events, Handler handler);
  void modify(int fd, std::uint32_t events);
  void remove(int fd);  // unknown descriptors are ignored

  TimerId at(Instant when, std::function<void()> handler);  // fires once
  void cancel(TimerId& id);                                 // and sets it to 0

  void run();  // until stop(), also one before
  void stop() { stopped_ = true; }

 private:
  struct Entry {
    int fd;
    std::uint32_t events;
    Handler handler;
  };
  void fire_timers();
  int wait_ms() const;

  UniqueFd epoll_;
  std::uint64_t next_id_ = 1;
  std::unordered_map<std::uint64_t, std::shared_ptr<Entry>> entries_;
  std::unordered_map<int, std::uint64_t> id_of_fd_;
  std::map<std::pair<std::int64_t, TimerId>, std::function<void()>> timers_;
  std::unordered_map<TimerId, std::int64_t> timer_when_;
  bool stopped_ = false;
};

}  // namespace hf::os
