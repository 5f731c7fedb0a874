// A deadline that is armed or not.
#pragma once
#include <algorithm>
#include <optional>

#include "base/ids.hpp"

namespace hf::core::tree {

class Timer {
 public:
  void arm(Instant at) { at_ = at; }
  void arm_if_idle(Instant at) {
    if (!at_) at_ = at;
  }
  void stop() { at_.reset(); }
  bool armed() const { return at_.has_value(); }
  // True once when it is due.
  bool poll(Instant now) {
    if (!at_ || *at_ > now) return false;
    at_.reset();
    return true;
  }
  std::optional<Instant> at() const { return at_; }

 private:
  std::optional<Instant> at_;
};

inline Instant after(Instant now, std::int64_t ns) {
  return Instant(now.value + ns);
}

inline void earlier(std::optional<Instant>& soonest, std::optional<Instant> at) {
  if (at && (!soonest || *at < *soonest)) soonest = at;
}

}  // namespace hf::core::tree
