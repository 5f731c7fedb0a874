#include "daemon/message_ways.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/test_seed.hpp"

namespace hf::daemon {
namespace {

constexpr std::uint64_t never = UINT64_MAX;

TEST(MessageWays, ReadsFromTheSizeOnFromWhichCopyingIsNotClearlyFaster) {
  EXPECT_EQ(direct_from({{9, 9, 9, 9}, {5, 5, 5, 5}}), 0u);
  EXPECT_EQ(direct_from({{9, 9, 9, 9}, {10, 10, 10, 10}}), 0u);       // not clearly
  EXPECT_EQ(direct_from({{9, 9, 9, 9}, {40, 40, 5, 5}}), 256u << 10);
  EXPECT_EQ(direct_from({{9, 9, 9, 9}, {5, 5, 40, 5}}), 1u << 20);    // not again below a size where copying is faster
  EXPECT_EQ(direct_from({{9, 9, 9, 9}, {40, 40, 40, 40}}), never);
  EXPECT_EQ(direct_from({{0, 0, 0, 0}, {5, 5, 5, 5}}), never);        // it cannot be read
}

TEST(MessageWays, MeasuresBothWaysOrSaysThatItCannot) {
  for (auto protocol : {wire::Protocol::none, wire::Protocol::pessimist}) {
    auto rates = measure_ways(protocol);
    if (!rates) continue;  // other tests kept the cores busy
    for (std::size_t i = 0; i < way_sizes.size(); ++i) {
      EXPECT_GT(rates->copied[i], 0.01);
      EXPECT_LT(rates->copied[i], 1000);
      EXPECT_LT(rates->direct[i], 1000);
    }
  }
}

class Cache : public testing::Test {
 protected:
  Cache() : directory_(std::filesystem::temp_directory_path() / ("holdfast-ways-" + std::to_string(::getpid()))) {}
  ~Cache() override { std::filesystem::remove_all(directory_); }
  std::optional<WayRates> look() { return ways_of_this_machine(wire::Protocol::none, directory_ / "made"); }
  std::filesystem::path file() const { return directory_ / "made" / "large-messages.json"; }
  std::string content() const {
    std::ifstream in(file());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& text) { std::ofstream(file()) << text; }
  // Until it was measured: a busy machine is no reason.
  bool filled() {
    for (int i = 0; i < 100; ++i) {
      if (look()) return true;
    }
    return false;
  }
  std::filesystem::path directory_;
};

TEST_F(Cache, IsReadInsteadOfMeasuring) {
  if (!filled()) GTEST_SKIP() << "the machine is too busy to be measured";
  const std::string text = content();
  auto at = text.find("\"copied\": [");
  ASSERT_NE(at, std::string::npos);
  auto end = text.find(']', at);
  write(text.substr(0, at) + "\"copied\": [1.5, 2.5, 3.5, 4.5" + text.substr(end));
  auto rates = look();
  ASSERT_TRUE(rates);
  EXPECT_EQ(rates->copied, (std::array{1.5, 2.5, 3.5, 4.5}));
  // Of before the machine was started, or older than an hour: not believed.
  for (auto [field, inserted] : {std::pair{"\"none ", "x"}, std::pair{"\"at\": ", "1000000000, \"\": "}}) {
    std::string other = content();
    other.insert(other.find(field) + std::string_view(field).size(), inserted);
    write(other);
    if (auto again = look()) {
      EXPECT_NE(again->copied, (std::array{1.5, 2.5, 3.5, 4.5})) << field;
    }
    write(text.substr(0, at) + "\"copied\": [1.5, 2.5, 3.5, 4.5" + text.substr(end));
  }
}

TEST_F(Cache, DamagedIsAsIfItWereNotThere) {
  if (!filled()) GTEST_SKIP() << "the machine is too busy to be measured";
  const std::string whole = content();
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 60; ++i) {
    std::string text = whole.substr(0, random() % (whole.size() + 1));
    for (std::uint64_t flips = text.empty() ? 0 : random() % 4; flips > 0; --flips) {
      text[random() % text.size()] ^= static_cast<char>(1 << random() % 7);
    }
    write(text);
    auto rates = look();
    for (std::size_t k = 0; rates && k < way_sizes.size(); ++k) EXPECT_TRUE(rates->direct[k] >= 0 && rates->direct[k] < 1e6) << text;
  }
}

TEST_F(Cache, WithoutADirectoryItMeasures) {
  auto rates = ways_of_this_machine(wire::Protocol::none, "");
  if (rates) {
    EXPECT_GT(rates->copied[0], 0);
  }
  EXPECT_FALSE(std::filesystem::exists(directory_));
}

}  // namespace
}  // namespace hf::daemon
