#include "base/streaming_copy.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hf {
namespace {

TEST(StreamingCopy, EveryAlignmentAndLengthAndNothingBeside) {
  std::vector<std::byte> from(3000), to(3200);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + (i >> 8));
  for (std::size_t at = 0; at < 65; at += 3) {
    for (std::size_t bytes : {0, 1, 63, 64, 1000, 1023, 1024, 1025, 1087, 1088, 2000, 2900}) {
      to.assign(to.size(), std::byte{0xee});
      streaming_copy(to.data() + at, from.data() + 5, bytes);
      for (std::size_t i = 0; i < to.size(); ++i) {
        bool copied = i >= at && i < at + bytes;
        ASSERT_EQ(to[i], copied ? from[5 + i - at] : std::byte{0xee}) << "at " << at << ", " << bytes << " bytes, byte " << i;
      }
    }
  }
}

}  // namespace
}  // namespace hf
