// What a fuzz target defines; driver.cpp does the rest. See README.md.
#pragma once
#include <random>
#include <vector>

#include "base/bytes.hpp"

namespace hf::fuzz {

using Octets = std::vector<std::byte>;
using Random = std::mt19937_64;

Octets sample(Random& random);  // a proper input
void take(Bytes input);         // any input

// Reads every byte, so that a sanitizer sees those that are not there.
inline void touch(Bytes bytes) {
  std::byte sum{};
  for (std::byte b : bytes) sum ^= b;
  volatile std::byte sink = sum;
  static_cast<void>(sink);
}

}  // namespace hf::fuzz
