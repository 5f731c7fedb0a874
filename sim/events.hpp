// The simulated clock: what happens next, in the order of time and, at the same time, of having been planned.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/ids.hpp"

namespace hf::sim {

class Events {
 public:
  using Action = std::function<void()>;
  Instant now() const { return now_; }
  void at(Instant time, Action action) {
    queue_.push_back({std::max(time, now_), planned_++, std::move(action)});
    std::push_heap(queue_.begin(), queue_.end(), later);
  }
  void in(std::int64_t ns, Action action) { at(Instant(now_.value + ns), std::move(action)); }
  // False: nothing is planned.
  bool step() {
    if (queue_.empty()) return false;
    std::pop_heap(queue_.begin(), queue_.end(), later);
    Planned next = std::move(queue_.back());
    queue_.pop_back();
    now_ = next.time;
    next.action();
    return true;
  }

 private:
  struct Planned {
    Instant time;
    std::uint64_t order;
    Action action;
  };
  static constexpr auto later = [](const Planned& a, const Planned& b) {
    return a.time != b.time ? a.time > b.time : a.order > b.order;
  };

  std::vector<Planned> queue_;  // a heap
  Instant now_{};
  std::uint64_t planned_ = 0;
};

}  // namespace hf::sim
