// Small seeded generator of the simulator, and the hash that simulated programs compute with.
#pragma once
#include <cstdint>

namespace hf::sim::job {

constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t y = (b + 1) * 0x9e3779b97f4a7c15u;
  std::uint64_t x = (a ^ y ^ y >> 31) * 0xff51afd7ed558ccdu;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
  return x ^ x >> 29;
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix(seed, 0x51ed)) {}
  std::uint64_t operator()() { return mix(state_ += 0x9e3779b97f4a7c15u, 1); }
  std::uint64_t below(std::uint64_t n) { return (*this)() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1)));
  }

 private:
  std::uint64_t state_;
};

}  // namespace hf::sim::job
