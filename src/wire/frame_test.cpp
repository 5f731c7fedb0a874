#include "wire/frame.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/test_seed.hpp"

namespace hf::wire {
namespace {

FrameHeader example() {
  FrameHeader h;
  h.kind = FrameKind::eager;
  h.flags = flag_synchronous | flag_logged;
  h.incarnation = 3;
  h.source = 1;
  h.tag = -7;
  h.context = 0x1122334455667788;
  h.sequence = 42;
  h.length = 1000;
  h.position = 64 * 5;
  return h;
}

// The format is shared by processes that may have been built apart: its bytes are fixed. docs/frames.md has this example.
TEST(Frame, TheLayoutIsThatOfThePage) {
  FrameHeader h = example();
  h.check = 0xabcd;
  const unsigned char expected[] = {
      0x01, 0x05, 0xcd, 0xab, 0x03, 0, 0, 0,             // kind, flags, check, incarnation
      0x01, 0, 0, 0, 0xf9, 0xff, 0xff, 0xff,             // source, tag
      0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,    // context
      42, 0, 0, 0, 0, 0, 0, 0,                           // sequence
      0xe8, 0x03, 0, 0, 0, 0, 0, 0,                      // length
      0, 0, 0, 0, 0, 0, 0, 0,                            // offset
      0x40, 0x01, 0, 0, 0, 0, 0, 0};                     // position
  static_assert(sizeof(expected) == sizeof(FrameHeader));
  EXPECT_EQ(std::memcmp(&h, expected, sizeof(h)), 0);
}

TEST(Frame, PayloadsFollowOnlyTheKindsThatCarryThem) {
  FrameHeader h = example();
  EXPECT_EQ(payload_on_rail(h), 1000u);
  EXPECT_EQ(payload_in_log(h), 1000u);
  h.kind = FrameKind::rendezvous;
  EXPECT_EQ(payload_on_rail(h), 0u);
  EXPECT_EQ(payload_in_log(h), 1000u);
  h.kind = FrameKind::data;
  EXPECT_EQ(payload_on_rail(h), 1000u);
  EXPECT_EQ(payload_in_log(h), 0u);
  h.kind = FrameKind::events;
  EXPECT_EQ(payload_on_rail(h), 1000u);
  EXPECT_EQ(payload_in_log(h), 0u);
  h.kind = FrameKind::dependencies;
  EXPECT_EQ(payload_on_rail(h), 1000u);
  EXPECT_EQ(payload_in_log(h), 1000u);
  for (FrameKind kind : {FrameKind::matched, FrameKind::clear_to_send, FrameKind::credit}) {
    h.kind = kind;
    EXPECT_EQ(payload_on_rail(h), 0u);
    EXPECT_EQ(payload_in_log(h), 0u);
  }
}

TEST(Frame, ImplausibleHeadersAreRefused) {
  FrameHeader good = example();
  EXPECT_TRUE(plausible(good, 2, 1000));
  EXPECT_FALSE(plausible(good, 1, 1000)) << "the source is not a rank of the job";
  EXPECT_FALSE(plausible(good, 2, 999)) << "too long";
  FrameHeader bad = good;
  bad.source = -1;
  EXPECT_FALSE(plausible(bad, 2, 1000));
  for (int kind : {0, 9, 255}) {
    bad = good;
    bad.kind = static_cast<FrameKind>(kind);
    EXPECT_FALSE(plausible(bad, 2, 1000)) << kind;
  }
  bad = good;
  bad.flags = 0x80;
  EXPECT_FALSE(plausible(bad, 2, 1000));
}

TEST(Frame, TheCheckIsNeverZeroAndSeesSingleBits) {
  std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 draw(seed);
  int missed = 0, looked = 0;
  for (int round = 0; round < 200; ++round) {
    FrameHeader h = example();
    h.sequence = draw();
    h.context = draw();
    std::uint16_t check = fold(h);
    EXPECT_NE(check, 0);
    h.check = static_cast<std::uint16_t>(draw());
    EXPECT_EQ(fold(h), check) << "the check is not part of itself";
    for (std::size_t bit = 0; bit < sizeof(h) * 8; ++bit) {
      if (bit / 8 == 2 || bit / 8 == 3) continue;  // the check itself
      FrameHeader flipped = h;
      reinterpret_cast<unsigned char*>(&flipped)[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
      ++looked;
      missed += fold(flipped) == check;
    }
  }
  EXPECT_LT(missed, looked / 1000);  // 15 bits: one in 32768
}

}  // namespace
}  // namespace hf::wire
