#include "daemon/output_tail.hpp"

#include <gtest/gtest.h>

#include <random>


namespace hf::daemon {
namespace {

OutputGate::Position end_of(std::string_view text) {
  const auto newline = text.rfind('\n');
  return {static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')),
          newline == std::string_view::npos ? text.size() : text.size() - newline - 1};
}

TEST(OutputTail, KeepsTheEndAndKnowsWhereItBegins) {
  std::mt19937_64 random(7);
  for (int line_bytes : {1, 10, 300, 5000}) {
    OutputTail tail(200);
    std::string all;
    for (int i = 0; i < 2000; ++i) {
      std::string piece(random() % 30, 'x');
      for (char& c : piece) c = random() % static_cast<unsigned>(line_bytes) == 0 ? '\n' : 'x';
      tail.append(piece);
      all += piece;
      ASSERT_TRUE(all.ends_with(tail.bytes()));
      ASSERT_GE(tail.bytes().size(), std::min<std::size_t>(all.size(), 200));
      ASSERT_LE(tail.bytes().size(), 2u * 200);
      ASSERT_EQ(tail.begin(), end_of(std::string_view(all).substr(0, all.size() - tail.bytes().size())));
    }
    tail.restart();
    EXPECT_EQ(tail.begin(), OutputGate::Position());
    EXPECT_EQ(tail.bytes(), "");
  }
}

}  // namespace
}  // namespace hf::daemon
