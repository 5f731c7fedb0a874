// For whom a rank waits, as it tells those who watch the job: one word of its control segment, stored when a wait has become long and
// cleared when that ends. Nothing depends on it.
#pragma once
#include <cstdint>

#include "base/ids.hpp"

namespace hf::segment {

// Beside any_rank, whom a wait can be for:
inline constexpr Rank several_ranks{-2};  // one of several, or all of them
inline constexpr Rank no_rank{-3};        // no rank that is known

struct Waiting {
  Rank whom = no_rank;
  std::int64_t since_ms = 0;  // of the node's monotonic clock
};

// 0 stands for no wait.
constexpr std::uint64_t waiting_word(Waiting w) {
  return static_cast<std::uint64_t>(w.since_ms) << 24 | (static_cast<std::uint64_t>(w.whom.value - no_rank.value + 1) & 0xffffff);
}
constexpr Waiting waiting_of(std::uint64_t word) {
  return {Rank(static_cast<std::int32_t>(word & 0xffffff) + no_rank.value - 1), static_cast<std::int64_t>(word >> 24)};
}

// Of a wait for what is awaited from `a` and from `b`.
constexpr Rank both(Rank a, Rank b) { return a == b ? a : several_ranks; }

}  // namespace hf::segment
