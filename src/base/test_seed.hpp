// For tests that draw at random: a fresh seed, or that of HOLDFAST_SEED. A failure must print it:
//   std::uint64_t seed = test_seed();
//   SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
#pragma once
#include <cstdint>
#include <cstdlib>
#include <random>

namespace hf {

inline std::uint64_t test_seed() {
  if (const char* given = std::getenv("HOLDFAST_SEED")) return std::strtoull(given, nullptr, 10);
  return std::random_device{}();
}

}  // namespace hf
