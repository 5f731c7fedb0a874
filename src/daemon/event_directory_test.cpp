#include "daemon/event_directory.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace hf::daemon {
namespace {

using Hosting = EventDirectory::Hosting;
constexpr std::uint64_t key = 0xabc;

class EventDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    base_ = testing::TempDir() + "events-XXXXXX";
    ASSERT_NE(::mkdtemp(base_.data()), nullptr);
    path_ = base_ + "/holdfast-events-1";
    ASSERT_TRUE(EventDirectory::make(path_, key, 4));
  }
  void TearDown() override { std::filesystem::remove_all(base_); }
  std::string base_, path_;
};

TEST_F(EventDirectoryTest, WhatIsTakenOverIsOverBelow) {
  auto directory = EventDirectory::open(path_, key, 4);
  ASSERT_TRUE(directory);
  const Hosting first{Rank{3}, Term{0}}, second{Rank{3}, Term{1}}, third{Rank{3}, Term{2}}, other{Rank{2}, Term{0}};
  EXPECT_TRUE(directory->over(std::vector{first, second, other})->empty());
  EXPECT_TRUE(directory->take_over(std::vector{second}, 7)->empty());
  EXPECT_EQ(*directory->over(std::vector{first, second, other}), std::vector{first});
  EXPECT_TRUE(directory->take_over(std::vector{third}, 8)->empty());
  // The one before wakes late.
  EXPECT_EQ(*directory->take_over(std::vector{second}, 7), std::vector{second});
  EXPECT_EQ(*directory->over(std::vector{first, second, third, other}), (std::vector{first, second}));
  EXPECT_EQ(*directory->hosts(third), std::vector{7});
  EXPECT_EQ(*directory->hosts({Rank{3}, Term{3}}), (std::vector{7, 8}));
  EXPECT_TRUE(directory->hosts(other)->empty());
}

TEST_F(EventDirectoryTest, ARollBackTakesNothing) {
  auto directory = EventDirectory::open(path_, key, 4);
  EXPECT_TRUE(directory->over(std::vector{Hosting{Rank{0}, Term{5}}})->empty());
}

TEST_F(EventDirectoryTest, MoreTermsThanCanBeToldApart) {
  auto directory = EventDirectory::open(path_, key, 4);
  auto taken = directory->take_over(std::vector{Hosting{Rank{0}, Term{EventDirectory::terms_max}}}, 1);
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().text.find("rank 0"), std::string::npos);
}

TEST_F(EventDirectoryTest, AnotherJobsOrNone) {
  EXPECT_FALSE(EventDirectory::open(path_, key + 1, 4));
  EXPECT_FALSE(EventDirectory::open(path_, key, 5));
  EXPECT_FALSE(EventDirectory::open(base_ + "/none", key, 4));
  EXPECT_FALSE(EventDirectory::make(path_, key, 4)) << "it is there";
  EXPECT_FALSE(EventDirectory::make(base_ + "/none/deeper", key, 4));
  std::ofstream(path_ + "/terms", std::ios::trunc);
  EXPECT_FALSE(EventDirectory::open(path_, key, 4));
}

TEST_F(EventDirectoryTest, FilesAreMadeOnceAndReadAsTheyAre) {
  auto directory = EventDirectory::open(path_, key, 4);
  auto file = directory->make_file(2);
  ASSERT_TRUE(file);
  EXPECT_FALSE(directory->make_file(2));
  EXPECT_EQ(directory->read_file(2)->size(), 0u);
  ASSERT_EQ(::write(file->get(), "abc", 3), 3);
  EXPECT_EQ(directory->read_file(2)->size(), 3u);
  EXPECT_FALSE(directory->read_file(1)) << "one that is missing is no empty one";
  EXPECT_TRUE(EventDirectory::remove(path_));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace hf::daemon
