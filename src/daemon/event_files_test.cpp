// An agent's file, its thread and the directory: what ranks write becomes stable, and is found by whoever takes them over.
#include "daemon/event_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "os/clock.hpp"

namespace hf::daemon {
namespace {

using Extent = EventFiles::Extent;
constexpr std::uint64_t key = 0xabc;
constexpr std::int64_t patience_ns = 10 * os::second_ns;

struct OneAgent {
  OneAgent(os::EventLoop& loop, const std::string& path, int number, os::UniqueFd file = {}) : loop_(loop) {
    auto directory = EventDirectory::open(path, key, 4);
    EXPECT_TRUE(directory);
    auto own = directory->make_file(number);
    EXPECT_TRUE(own);
    EventFiles::Place place{*directory, {key, static_cast<std::uint32_t>(number)}, file ? std::move(file) : std::move(*own)};
    files = std::make_unique<EventFiles>(
        loop, std::move(place),
        EventFiles::Handlers{[this](Rank rank) { return Extent{events[rank].size(), {}}; },
                             [this](Rank rank, std::uint64_t position, MutableBytes out) {
                               std::ranges::copy(Bytes(events[rank]).subspan(position, out.size()), out.begin());
                               return true;
                             },
                             [](Rank) {}, [this](Rank rank) { fenced = rank.value; }, [](Rank) { ADD_FAILURE(); },
                             [this](const std::string& why) { failure = why; }});
  }
  void write(int rank, std::size_t count) {
    events[Rank{rank}].resize(events[Rank{rank}].size() + count, std::byte{1});
    files->look(Rank{rank});
  }
  std::uint64_t stable(int rank) const { return files->stable(Rank{rank}).end; }
  template <class Done>
  bool wait(Done done) {
    const Instant limit = os::later(os::now(), patience_ns);
    while (!done() && os::now() < limit) {
      loop_.at(os::later(os::now(), os::millisecond_ns), [this] { loop_.stop(); });
      loop_.run();
    }
    return done();
  }
  EventFiles::FoundOf take(int rank, std::uint32_t term, int first_host, std::string& why) {
    EventFiles::FoundOf out;
    bool answered = false;
    files->fetch({{{Rank{rank}, Term{term}}, first_host}}, [&](EventFiles::FoundOf found, std::string failure_text) {
      out = std::move(found);
      why = std::move(failure_text);
      answered = true;
    });
    EXPECT_TRUE(wait([&] { return answered; }));
    return out;
  }
  os::EventLoop& loop_;
  std::map<Rank, std::vector<std::byte>> events;
  std::unique_ptr<EventFiles> files;
  int fenced = -1;
  std::string failure;
};

class EventFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    base_ = testing::TempDir() + "files-XXXXXX";
    ASSERT_NE(::mkdtemp(base_.data()), nullptr);
    path_ = base_ + "/job";
    ASSERT_TRUE(EventDirectory::make(path_, key, 4));
  }
  void TearDown() override { std::filesystem::remove_all(base_); }
  os::EventLoop loop_;
  std::string base_, path_;
};

TEST_F(EventFilesTest, WhatIsStableIsFoundAndTheOldHostingIsOver) {
  OneAgent a(loop_, path_, 0), s(loop_, path_, 1);
  a.files->add_rank(Rank{1}, Term{0}, {});
  a.files->add_rank(Rank{2}, Term{0}, {});
  a.write(1, 100000);
  a.write(2, 300000);
  ASSERT_TRUE(a.wait([&] { return a.stable(1) == 100000 && a.stable(2) == 300000; }));
  std::string why;
  auto found = s.take(1, 1, 0, why);
  EXPECT_EQ(why, "");
  ASSERT_EQ(found[Rank{1}].size(), 1u);
  EXPECT_EQ(found[Rank{1}][0].bytes.size(), 100000u);
  // A does not know yet.
  a.write(1, 16);
  ASSERT_TRUE(a.wait([&] { return a.fenced == 1; }));
  EXPECT_EQ(a.stable(1), 100000u);
  a.write(2, 16);
  EXPECT_TRUE(a.wait([&] { return a.stable(2) == 300016; })) << "the other rank is still there";
}

TEST_F(EventFilesTest, ALateTakerGivesUp) {
  OneAgent a(loop_, path_, 0), s1(loop_, path_, 1), s2(loop_, path_, 2);
  std::string why;
  s2.take(1, 2, 0, why);
  EXPECT_EQ(why, "");
  s1.take(1, 1, 0, why);
  EXPECT_NE(why.find("taken over by another node"), std::string::npos);
}

TEST_F(EventFilesTest, ATakerThatHasOnlyBegunToCopy) {
  OneAgent a(loop_, path_, 0), s1(loop_, path_, 1), s2(loop_, path_, 2);
  a.files->add_rank(Rank{1}, Term{0}, {});
  a.write(1, 48);
  ASSERT_TRUE(a.wait([&] { return a.stable(1) == 48; }));
  std::string why;
  s1.take(1, 1, 0, why);
  s1.events[Rank{1}].resize(16);  // of 48
  s1.files->add_rank(Rank{1}, Term{1}, {48, {}});
  ASSERT_TRUE(s1.wait([&] { return std::filesystem::file_size(path_ + "/node-1") > 24 + 64 + 64; }));
  core::event_logger::Found best;
  auto found = s2.take(1, 2, 0, why);
  ASSERT_EQ(found[Rank{1}].size(), 2u);
  for (auto& one : found[Rank{1}]) core::event_logger::take(best, std::move(one), Term{2});
  EXPECT_EQ(best.bytes.size(), 48u);
}

TEST_F(EventFilesTest, AFullDiskIsSaidOnceAndNothingMoreIsStable) {
  OneAgent a(loop_, path_, 0, os::UniqueFd(::open("/dev/full", O_WRONLY | O_CLOEXEC)));
  a.files->add_rank(Rank{1}, Term{0}, {});
  a.write(1, 16);
  ASSERT_TRUE(a.wait([&] { return !a.failure.empty(); }));
  EXPECT_EQ(a.failure, "No space left on device");
  EXPECT_EQ(a.stable(1), 0u);
}

TEST_F(EventFilesTest, ADiskThatStandsStillHoldsUpNothingElse) {
  OneAgent a(loop_, path_, 0);
  a.files->add_rank(Rank{1}, Term{0}, {});
  ASSERT_TRUE(a.wait([&] { return std::filesystem::file_size(path_ + "/node-0") > 0; }));
  a.files->stand_still(300 * os::millisecond_ns);
  const Instant begin = os::now();
  a.write(1, 16);
  EXPECT_LT(os::now().value - begin.value, 100 * os::millisecond_ns);
  EXPECT_EQ(a.stable(1), 0u);
  ASSERT_TRUE(a.wait([&] { return a.stable(1) == 16; }));
  EXPECT_GT(os::now().value - begin.value, 250 * os::millisecond_ns);
}

TEST_F(EventFilesTest, DamageIsNamed) {
  OneAgent a(loop_, path_, 0), s(loop_, path_, 1);
  a.files->add_rank(Rank{1}, Term{0}, {});
  for (std::uint64_t end : {16, 32, 48}) {
    a.write(1, 16);
    ASSERT_TRUE(a.wait([&] { return a.stable(1) == end; }));
  }
  os::UniqueFd file(::open((path_ + "/node-0").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::pwrite(file.get(), "x", 1, 24 + 64 + 3), 1);
  std::string why;
  s.take(1, 1, 0, why);
  EXPECT_EQ(why, "the event file of node 0 is damaged at byte 88");
}

TEST_F(EventFilesTest, AMissingFileIsNamed) {
  OneAgent s(loop_, path_, 1);
  std::string why;
  s.take(1, 1, 0, why);
  EXPECT_NE(why.find("node-0"), std::string::npos);
}

}  // namespace
}  // namespace hf::daemon
