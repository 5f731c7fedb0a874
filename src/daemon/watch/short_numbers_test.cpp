#include "daemon/watch/short_numbers.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace hf::daemon {
namespace {

TEST(ShortNumbers, Counts) {
  const std::pair<double, const char*> cases[] = {{0, "0"},           {9999, "9999"},     {9999.6, "10.0k"},    {12'345, "12.3k"},
                                                  {456'700, "457k"}, {999'600, "1.00M"}, {1'234'567, "1.23M"}, {5e9, "5.00G"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(short_count(value), text) << value;
  EXPECT_EQ(short_count(-1), "-");
  EXPECT_EQ(short_count(std::numeric_limits<double>::quiet_NaN()), "-");
  for (double value = 1; value < 1e19; value *= 1.37) EXPECT_LE(short_count(value).size(), 5u) << value;
}

TEST(ShortNumbers, Bytes) {
  EXPECT_EQ(short_bytes(4096), "4096");
  EXPECT_EQ(short_bytes(64 << 10), "64.0K");
  EXPECT_EQ(short_bytes(32 << 20), "32.0M");
  EXPECT_EQ(short_bytes(static_cast<double>(std::numeric_limits<std::uint64_t>::max())), "16.0E");
  for (double value = 1; value < 1e19; value *= 1.37) EXPECT_LE(short_bytes(value).size(), 5u) << value;
}

TEST(ShortNumbers, Times) {
  const std::pair<double, const char*> cases[] = {{0, "0.000s"}, {0.0123, "0.012s"}, {2.5, "2.50s"}, {61, "61.0s"}, {99.96, "1m40s"},
                                                  {723, "12m03s"}, {3599.6, "1h00m"}, {18'432, "5h07m"}, {1e6, "11d13h"}, {1e300, "-"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(short_time(value), text) << value;
}

TEST(ShortNumbers, TextCannotDriveTheTerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\nc\x7f"), "a?[2Jb?c?");
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f\x65"), "gr\xc3\xbc\xc3\x9f\x65");
  EXPECT_EQ(printable("\xc2\x9b" "1m\xff\xc3"), "??1m??");
  EXPECT_EQ(printable("a\xc3\xbc" "bc", 5), "a\xc3\xbc" "bc");
  EXPECT_EQ(printable("a\xc3\xbc" "bc", 3), "a\xc3\xbc");
  EXPECT_EQ(printable("a\xc3\xbc" "bc", 2), "a");
}

}  // namespace
}  // namespace hf::daemon
