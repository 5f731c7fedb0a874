// How far the state of a rank goes in the log of one sender (docs/segments.md, Giving back).
#pragma once
#include <cstdint>

#include "base/ids.hpp"

namespace hf::engine {

// All that stands before this position in the log that the sender's incarnation has for the rank has been taken.
struct Reached {
  Incarnation sender{};
  std::uint64_t position = 0;
};

}  // namespace hf::engine
