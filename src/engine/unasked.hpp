// Whether the first pieces of an announced payload go to a peer before it asks for them (docs/tcp.md). A receiver that has not posted its
// receive by then throws them away and asks: whoever does that again and again is sent fewer, down to one message in 64. Pure.
#pragma once
#include <algorithm>
#include <utility>

namespace hf::engine {

class Unasked {
 public:
  // Whether pieces may follow the next announcement; asked as often as it takes until that has left.
  bool may_follow() const { return pause_ == 0; }
  // It has left, with pieces behind it or without.
  void on_announced() {
    if (pause_ > 0) --pause_;
    else if (!std::exchange(thrown_away_, false)) longest_ = 0;
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
