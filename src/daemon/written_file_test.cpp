#include "daemon/written_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "daemon/paths.hpp"

namespace hf::daemon {
namespace {

class WrittenFile : public ::testing::Test {
 protected:
  WrittenFile() {
    std::string name = std::filesystem::temp_directory_path() / "holdfast-test-XXXXXX";
    directory_ = ::mkdtemp(name.data());
  }
  ~WrittenFile() override { std::filesystem::remove_all(directory_); }
  std::string at(const std::string& name) const { return directory_ + "/" + name; }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string why(const std::string& path) {
    const Result<> tried = try_file(path);
    return tried ? "" : tried.error().text;
  }
  std::string directory_;
};

TEST_F(WrittenFile, TryingLeavesEverythingAsItIs) {
  EXPECT_EQ(why(at("new")), "");
  EXPECT_FALSE(std::filesystem::exists(at("new")));
  ASSERT_TRUE(write_file(at("old"), "words"));
  EXPECT_EQ(why(at("old")), "");
  EXPECT_EQ(text_of(at("old")), "words");
  ASSERT_TRUE(write_file(at("old"), "w"));
  EXPECT_EQ(text_of(at("old")), "w");
}

TEST_F(WrittenFile, WhatCannotBeWrittenIsSeenBefore) {
  EXPECT_EQ(why(at("no/such")), "cannot write " + at("no/such") + ": No such file or directory");
  EXPECT_EQ(why(directory_), "cannot write " + directory_ + ": Is a directory");
  EXPECT_EQ(write_file(directory_, "words").error().text, why(directory_));
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everything";
  ASSERT_TRUE(write_file(at("closed"), "words"));
  ASSERT_EQ(::chmod(at("closed").c_str(), 0400), 0);
  EXPECT_EQ(why(at("closed")), "cannot write " + at("closed") + ": Permission denied");
}

TEST_F(WrittenFile, APipeIsNotOpened) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(why(at("pipe")), "");  // and does not wait for a reader
  EXPECT_EQ(why("/dev/null"), "");
}

TEST(Absolute, NeedsTheDirectoryForARelativePath) {
  EXPECT_EQ(*absolute("--x", "a", "/b"), "/b/a");
  EXPECT_EQ(*absolute("--x", "/a", ""), "/a");
  EXPECT_EQ(*absolute("--x", "", ""), "");
  EXPECT_NE(absolute("--x", "a", "").error().text.find("--x a: the current directory was removed"), std::string::npos);
}

}  // namespace
}  // namespace hf::daemon
