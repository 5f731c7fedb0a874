// Whether the first pieces of an announced payload go to a peer before it asks for them (docs/tcp.md). A receiver that has not posted its
// receive by then throws them away and asks: whoever does that again and again is sent fewer, down to one message in 64. Pure.
#pragma once
#include <algorithm>
#include <utility>

namespace hf::engine {

class Unasked {
 public:
  // For each announcement in turn. True: pieces may follow this one.
  bool may_follow() {
    if (pause_ > 0) return --pause_, false;
    if (!std::exchange(thrown_away_, false)) longest_ = 0;
    return true;
  }
  // Those of the last announcement that was followed were not taken.
  void on_thrown_away() {
    thrown_away_ = true;
    pause_ = longest_ = std::min(2 * longest_ + 1, longest_max);
  }

  static constexpr unsigned longest_max = 63;

 private:
  unsigned longest_ = 0, pause_ = 0;  // announcements
  bool thrown_away_ = false;
};

}  // namespace hf::engine
