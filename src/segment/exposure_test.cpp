#include "segment/exposure.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace hf::segment {
namespace {

TEST(Exposure, StandsUntilItIsTakenBack) {
  auto header = std::make_unique<ControlHeader>();
  Exposures exposures;
  Exposure first = exposures.expose(*header), second = exposures.expose(*header);
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(is_exposed(*header, first.ticket()));
  EXPECT_TRUE(is_exposed(*header, second.ticket()));
  std::uint64_t ticket = first.ticket();
  first.withdraw();
  EXPECT_FALSE(is_exposed(*header, ticket));
  EXPECT_TRUE(is_exposed(*header, second.ticket()));
  ticket = second.ticket();
  second = {};
  EXPECT_FALSE(is_exposed(*header, ticket));
}

TEST(Exposure, MovesWithItsOwner) {
  auto header = std::make_unique<ControlHeader>();
  Exposures exposures;
  std::uint64_t ticket = 0;
  {
    Exposure outer;
    {
      Exposure inner = exposures.expose(*header);
      ticket = inner.ticket();
      outer = std::move(inner);
    }
    EXPECT_TRUE(is_exposed(*header, ticket));
  }
  EXPECT_FALSE(is_exposed(*header, ticket));
}

// A receiver may still stand at what it began to read of a predecessor's.
TEST(Exposure, TwoIncarnationsNeverHaveTheSameTicket) {
  auto first = std::make_unique<ControlHeader>(), second = std::make_unique<ControlHeader>();
  first->incarnation = 0;
  second->incarnation = 1;
  Exposures of_the_first, of_the_second;
  Exposure before = of_the_first.expose(*first), after = of_the_second.expose(*second);
  EXPECT_FALSE(is_exposed(*second, before.ticket()));
  EXPECT_TRUE(is_exposed(*second, after.ticket()));
  EXPECT_LT(before.ticket(), after.ticket()) << "who waits for the reader of the one waits for that of the other";
}

// A word is given to another only when it is free, and an old ticket never looks valid again.
TEST(Exposure, AsManyAsThereAreWords) {
  auto header = std::make_unique<ControlHeader>();
  Exposures exposures;
  std::vector<Exposure> all;
  for (std::size_t i = 0; i < exposure_count; ++i) all.push_back(exposures.expose(*header));
  for (const Exposure& e : all) EXPECT_TRUE(e);
  EXPECT_FALSE(exposures.expose(*header));
  all[5].withdraw();
  all[5] = exposures.expose(*header);
  EXPECT_TRUE(all[5]) << "the one that is free, wherever it is";
  std::uint64_t old = all.front().ticket();
  all.front().withdraw();
  Exposure next = exposures.expose(*header);
  ASSERT_TRUE(next);
  EXPECT_FALSE(is_exposed(*header, old));
  EXPECT_TRUE(is_exposed(*header, next.ticket()));
}

}  // namespace
}  // namespace hf::segment
