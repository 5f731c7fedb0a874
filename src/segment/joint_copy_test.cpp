#include "segment/joint_copy.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace hf::segment {
namespace {

constexpr Incarnation first{0}, second{1};

struct Words {
  JointOffer offer{};
  JointHelp help{};
  JointWriter writer{help, offer};
  JointReader reader(std::uint64_t number, std::uint64_t bytes, std::uint64_t piece, std::uint64_t from = 1, std::uint64_t into = 2) {
    return {offer, help, number, from, into, bytes, piece, 7};
  }
};

TEST(JointCopy, TheReaderAloneReadsAll) {
  Words words;
  JointReader reader = words.reader(joint_number(first, 1), 100, 30);
  int claimed = 0;
  while (reader.claim()) ++claimed;
  reader.close();
  EXPECT_EQ(claimed, 4);
  EXPECT_FALSE(reader.is_being_written());
  EXPECT_EQ(reader.back(), 4u);
}

TEST(JointCopy, TheyMeet) {
  Words words;
  JointReader reader = words.reader(joint_number(first, 1), 100, 30);
  ASSERT_TRUE(reader.claim());
  ASSERT_TRUE(words.writer.join(words.writer.offered()));
  EXPECT_EQ(words.writer.ticket(), 7u);
  auto last = words.writer.claim();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->offset, 90u);
  EXPECT_EQ(last->bytes, 10u) << "what is left of it";
  ASSERT_TRUE(reader.claim());
  auto next = words.writer.claim();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->offset, 60u);
  EXPECT_FALSE(reader.claim());
  EXPECT_FALSE(words.writer.claim());
  reader.close();
  EXPECT_TRUE(reader.is_being_written()) << "until it says that it has done so";
  words.writer.leave();
  EXPECT_FALSE(reader.is_being_written());
  EXPECT_EQ(reader.back(), 2u);
}

TEST(JointCopy, WhatCouldNotBeWrittenIsRead) {
  Words words;
  JointReader reader = words.reader(joint_number(first, 1), 90, 30);
  ASSERT_TRUE(words.writer.join(words.writer.offered()));
  ASSERT_TRUE(words.writer.claim());
  ASSERT_TRUE(words.writer.claim());
  words.writer.give_back();
  words.writer.leave();
  ASSERT_TRUE(reader.claim());
  ASSERT_TRUE(reader.claim());
  EXPECT_FALSE(reader.claim());
  EXPECT_EQ(reader.back(), 2u);
}

TEST(JointCopy, AnOfferIsTakenOnce) {
  Words words;
  [[maybe_unused]] JointReader reader = words.reader(joint_number(first, 1), 90, 30);
  ASSERT_TRUE(words.writer.join(words.writer.offered()));
  words.writer.leave();
  EXPECT_EQ(words.writer.offered(), 0u);
}

// The writer saw an offer, lost its core, and comes back when the receiver has gone on.
TEST(JointCopy, AClosedOfferIsNotJoined) {
  Words words;
  JointReader reader = words.reader(joint_number(first, 1), 90, 30);
  const std::uint64_t number = words.writer.offered();
  reader.close();
  EXPECT_FALSE(reader.is_being_written());
  EXPECT_FALSE(words.writer.join(number));
  EXPECT_FALSE(reader.is_being_written());
}

// And the same when the next payload is offered already: it writes nothing of the one before.
TEST(JointCopy, AnotherOfferIsNotTakenForTheOneThatWasSeen) {
  Words words;
  JointReader before = words.reader(joint_number(first, 1), 90, 30);
  const std::uint64_t number = words.writer.offered();
  before.close();
  JointReader reader = words.reader(joint_number(first, 2), 60, 30);
  EXPECT_FALSE(words.writer.join(number));
  EXPECT_EQ(reader.back(), 2u);
  EXPECT_TRUE(words.writer.join(words.writer.offered()));
}

// What a sender has written for a receiver that died says nothing about what its next incarnation offers.
TEST(JointCopy, OffersOfTwoIncarnationsDiffer) {
  Words of_the_first;
  [[maybe_unused]] JointReader dead = of_the_first.reader(joint_number(first, 1), 90, 30);
  ASSERT_TRUE(of_the_first.writer.join(of_the_first.writer.offered()));
  ASSERT_TRUE(of_the_first.writer.claim());
  of_the_first.writer.leave();
  JointOffer offer{};
  JointReader reader(offer, of_the_first.help, joint_number(second, 1), 1, 2, 90, 30, 7);
  EXPECT_EQ(reader.back(), 3u);
  EXPECT_NE(JointWriter(of_the_first.help, offer).offered(), 0u);
}

// Two threads: every byte arrives, and nothing is written once the reader has gone on and uses the buffer for something else.
TEST(JointCopy, TwoAtOnce) {
  constexpr std::size_t bytes = 40'000, piece = 1'000, rounds = 3'000;
  Words words;
  std::vector<std::uint8_t> from(bytes), into(bytes);
  std::atomic<bool> ends{false};
  std::uint64_t written = 0;
  std::thread sender([&] {
      while (!ends.load(std::memory_order_relaxed)) {
      const std::uint64_t number = words.writer.offered();
      if (number == 0 || !words.writer.join(number)) continue;
      while (auto claimed = words.writer.claim()) {
        std::memcpy(reinterpret_cast<std::uint8_t*>(words.writer.into()) + claimed->offset,
                    reinterpret_cast<const std::uint8_t*>(words.writer.from()) + claimed->offset, claimed->bytes);
        ++written;
      }
      words.writer.leave();
    }
  });
  bool all_right = true;
  for (std::size_t round = 1; round <= rounds && all_right; ++round) {
    std::memset(from.data(), static_cast<int>(round % 251), bytes);
    JointReader reader = words.reader(joint_number(first, round), bytes, piece, reinterpret_cast<std::uint64_t>(from.data()),
                                      reinterpret_cast<std::uint64_t>(into.data()));
    std::uint64_t read = 0;
    for (; reader.claim(); ++read) std::memcpy(into.data() + read * piece, from.data() + read * piece, piece);
    reader.close();
    while (reader.is_being_written()) std::this_thread::yield();
    for (; read < reader.back(); ++read) std::memcpy(into.data() + read * piece, from.data() + read * piece, piece);
    all_right = std::memcmp(into.data(), from.data(), bytes) == 0;
    std::memset(into.data(), 255, bytes);
    for (int i = 0; i < 200; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
    all_right = all_right && std::count(into.begin(), into.end(), 255) == static_cast<std::ptrdiff_t>(bytes);
  }
  ends = true;
  sender.join();
  EXPECT_TRUE(all_right);
  EXPECT_GT(written, 0u) << "the sender has taken part";
}

}  // namespace
}  // namespace hf::segment
