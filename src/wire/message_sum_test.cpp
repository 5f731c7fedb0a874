#include "wire/message_sum.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace hf::wire {
namespace {

TEST(MessageSum, EnvelopesDifferInEachOfTheirFields) {
  FrameHeader h;
  h.tag = 5;
  h.length = 8;
  h.sequence = 3;
  std::set<std::uint64_t> sums{envelope_sum(h)};
  FrameHeader other = h;
  sums.insert((other.tag = 6, envelope_sum(other)));
  other = h;
  sums.insert((other.length = 9, envelope_sum(other)));
  other = h;
  sums.insert((other.sequence = 4, envelope_sum(other)));
  other = h;
  sums.insert((other.flags = flag_synchronous, envelope_sum(other)));
  EXPECT_EQ(sums.size(), 5u);
}

// Whether it was announced, where it stood in which log: the run after does that in another way.
TEST(MessageSum, HowAMessageWentDoesNotCount) {
  FrameHeader h, other;
  h.kind = FrameKind::eager;
  other.kind = FrameKind::rendezvous;
  other.flags = flag_logged | flag_ahead;
  other.incarnation = 22;
  other.position = 4096;
  EXPECT_EQ(envelope_sum(h), envelope_sum(other));
}

TEST(MessageSum, ALargePayloadIsLookedAtFromItsBeginningToItsEnd) {
  for (std::size_t size : {std::size_t{1}, std::size_t{8192}, std::size_t{8193}, std::size_t{100000}, std::size_t{1} << 20}) {
    std::vector<std::byte> payload(size);
    const std::uint64_t before = payload_sum(0, payload);
    EXPECT_EQ(payload_sum(0, payload), before);
    EXPECT_NE(payload_sum(1, payload), before);
    for (std::size_t at : {std::size_t{0}, size - 1}) {
      payload[at] = std::byte{1};
      EXPECT_NE(payload_sum(0, payload), before) << size << " bytes, " << at;
      payload[at] = {};
    }
    // A run of so many bytes that are others is seen wherever it is.
    const std::size_t run = std::min(size, size / (summed_bytes_max / 64 - 1) + 64);
    for (std::size_t at = 0; at + run <= size; at += 1 + size / 50) {
      std::vector<std::byte> changed = payload;
      for (std::size_t i = at; i < at + run; ++i) changed[i] = std::byte{7};
      EXPECT_NE(payload_sum(0, changed), before) << size << " bytes, from " << at;
    }
  }
}

}  // namespace
}  // namespace hf::wire
