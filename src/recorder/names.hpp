// What this incarnation has done to the file of each name so far: how often each step, so that the n-th is found among what the run before
// recorded. Names are as the program gives them; their number is bounded.
#pragma once
#include <cstddef>
#include <cstdint>

#include "recorder/recording.hpp"

namespace hf::recorder {

struct Name {
  std::uint64_t hash = 0;  // 0: free
  std::uint16_t steps[8] = {};
  std::uint32_t looks[3] = {};  // FileStep::looked, looked_at_link, asked
  bool made_here = false;       // all that the file contains is this incarnation's
};
constexpr std::size_t names_max = 1 << 14;

std::uint64_t hash_of(const char* path, std::uint64_t hash = 14695981039346656037u);
Name* name_of(std::uint64_t hash);  // null: there are too many

// Below /proc, /sys and /dev: what is there is the system's.
bool is_of_system(const char* path);

}  // namespace hf::recorder
