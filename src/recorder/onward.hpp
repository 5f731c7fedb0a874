// A value that only grows, and that the rank's next incarnation asks of another process or host: what the system says is behind what the program was
// told in the replay, and goes on from there. Pure.
#pragma once
#include <cstdint>

namespace hf::recorder {

class Onward {
 public:
  std::int64_t replayed(std::int64_t value) { return last_ = value; }
  // `known`: what is to be added to what the system says, whatever was said before.
  std::int64_t from_system(std::int64_t value, std::int64_t known = 0) {
    if (!asked_) {
      asked_ = true;
      offset_ = value + known < last_ ? last_ - value : known;
    }
    return last_ = value + offset_;
  }

 private:
  std::int64_t last_ = 0, offset_ = 0;
  bool asked_ = false;
};

}  // namespace hf::recorder
