// How far a rank's events go: bytes of its stream, and its last test that found nothing (events.md, the lazy event). Pure.
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/bytes.hpp"
#include "base/ids.hpp"

namespace hf::core::event_logger {

struct Extent {
  std::uint64_t end = 0;
  TestClock last_failed{};
  bool operator==(const Extent&) const = default;
  bool covers(const Extent& other) const { return end >= other.end && last_failed >= other.last_failed; }
};

// Of one execution: what either says.
inline Extent either(const Extent& one, const Extent& other) {
  return {std::max(one.end, other.end), std::max(one.last_failed, other.last_failed)};
}

// What both say.
inline Extent both(const Extent& one, const Extent& other) {
  return {std::min(one.end, other.end), std::min(one.last_failed, other.last_failed)};
}

// An append that brings nothing: what is there?
inline bool is_question(TestClock last_failed, Bytes bytes) { return bytes.empty() && last_failed == TestClock{}; }

}  // namespace hf::core::event_logger
