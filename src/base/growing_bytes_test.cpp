#include "base/growing_bytes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/test_seed.hpp"

namespace hf {
namespace {

TEST(GrowingBytes, AgreesWithAVector) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  GrowingBytes bytes;
  std::vector<std::byte> model;
  for (int i = 0; i < 2000; ++i) {
    if (draw() % 8 == 0) {
      const std::size_t left = draw() % (model.size() + 10);
      bytes.shorten(left);
      model.resize(std::min(model.size(), left));
    } else {
      const std::vector<std::byte> more(draw() % 3000, static_cast<std::byte>(draw()));
      bytes.append(more);
      model.insert(model.end(), more.begin(), more.end());
    }
    ASSERT_TRUE(std::ranges::equal(bytes.view(), model));
    if (i % 100 == 99) {
      GrowingBytes other = std::move(bytes);
      bytes = std::move(other);
    }
  }
}

}  // namespace
}  // namespace hf
