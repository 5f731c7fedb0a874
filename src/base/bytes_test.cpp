#include "base/bytes.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace hf {
namespace {

TEST(Bytes, ReadsWhatWasWritten) {
  std::vector<std::byte> buffer;
  ByteWriter out(buffer);
  out.put(std::uint32_t{7});
  out.put_text("rank");
  out.put(std::int64_t{-1});
  out.put_text("");
  ByteReader in(buffer);
  EXPECT_EQ(in.get<std::uint32_t>(), 7u);
  EXPECT_EQ(in.get_text(), "rank");
  EXPECT_EQ(in.get<std::int64_t>(), -1);
  EXPECT_EQ(in.get_text(), "");
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.left(), 0u);
}

TEST(Bytes, EveryPrefixIsRefusedAndGivesZeros) {
  std::vector<std::byte> buffer;
  ByteWriter out(buffer);
  out.put(std::uint64_t{~0ull});
  out.put_text("some text");
  out.put(std::uint16_t{0xffff});
  for (std::size_t n = 0; n < buffer.size(); ++n) {
    ByteReader in(Bytes(buffer).first(n));
    in.get<std::uint64_t>();
    in.get_text();
    EXPECT_EQ(in.get<std::uint16_t>(), 0u) << n;
    EXPECT_FALSE(in.ok()) << n;
    EXPECT_EQ(in.get<std::uint64_t>(), 0u) << n;
    EXPECT_TRUE(in.get_bytes(1).empty()) << n;
  }
}

TEST(Bytes, ALengthBeyondTheBufferIsRefused) {
  std::vector<std::byte> buffer;
  ByteWriter out(buffer);
  out.put(std::numeric_limits<std::uint32_t>::max());
  out.put(std::uint8_t{1});
  ByteReader in(buffer);
  EXPECT_EQ(in.get_text(), "");
  EXPECT_FALSE(in.ok());
  EXPECT_TRUE(ByteReader(buffer).get_bytes(std::numeric_limits<std::size_t>::max()).empty());
}

}  // namespace
}  // namespace hf
