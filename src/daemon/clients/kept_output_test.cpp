#include "daemon/clients/kept_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace hf::daemon {
namespace {

class Kept : public ::testing::Test {
 protected:
  Kept() {
    std::string name = std::filesystem::temp_directory_path() / "holdfast-test-XXXXXX";
    path_ = ::mkdtemp(name.data());
    directory_.reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY));
  }
  ~Kept() override { std::filesystem::remove_all(path_); }
  // Everything there is from here on, stderr in brackets.
  static std::string rest(KeptReader& reader) {
    std::string out;
    for (;;) {
      auto more = reader.read_some([&](KeptStream stream, std::string_view bytes) {
        out += stream == KeptStream::out ? std::string(bytes) : fmt::format("[{}]", bytes);
      });
      if (!more) return out + "error: " + more.error().text;
      if (!*more) return out;
    }
  }
  std::uint64_t bytes_on_disk() const {
    std::uint64_t out = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) out += entry.file_size();
    return out;
  }
  std::string path_;
  os::UniqueFd directory_;
};

TEST_F(Kept, IsReadInOrderWhileItIsWritten) {
  KeptOutput output(directory_.get(), output_limit_min);
  KeptReader reader(directory_.get(), 0);
  EXPECT_EQ(rest(reader), "");
  output.append(KeptStream::out, "one\n");
  output.append(KeptStream::error, "oh\n");
  EXPECT_EQ(rest(reader), "one\n[oh\n]");
  EXPECT_EQ(rest(reader), "");
  output.append(KeptStream::out, "two\n");
  KeptReader later(directory_.get(), reader.position());
  EXPECT_EQ(rest(reader), "two\n");
  EXPECT_EQ(rest(later), "two\n");
}

TEST_F(Kept, TheOldestIsDroppedAndCounted) {
  KeptOutput output(directory_.get(), output_limit_min);
  KeptReader from_start(directory_.get(), 0), reader(directory_.get(), 0);
  std::string all;
  const std::string line = std::string(999, 'x') + "\n";
  for (int i = 0; i < 5000; ++i) {
    output.append(KeptStream::out, line);
    ASSERT_LE(bytes_on_disk(), output_limit_min);
    all += rest(reader);
  }
  EXPECT_EQ(all.size(), 5000 * line.size()) << "who keeps up misses nothing";
  EXPECT_EQ(reader.take_dropped(), 0u);
  const std::string kept = rest(from_start);
  EXPECT_GT(kept.size(), output_limit_min * 6 / 8);
  EXPECT_EQ(kept.size() % line.size(), 0u);
  const std::uint64_t records = kept.size() / line.size();
  EXPECT_EQ(from_start.take_dropped(), (5000 - records) * (line.size() + sizeof(KeptRecordHead)));
  EXPECT_EQ(from_start.take_dropped(), 0u);
  EXPECT_EQ(from_start.position(), reader.position());
}

TEST_F(Kept, LongOutputIsManyRecords) {
  KeptOutput output(directory_.get(), output_limit_min);
  output.append(KeptStream::out, std::string(500'000, 'y'));
  KeptReader reader(directory_.get(), 0);
  EXPECT_EQ(rest(reader), std::string(500'000, 'y'));
}

TEST_F(Kept, AReaderThatFallsBehindGoesOnWithTheOldest) {
  KeptOutput output(directory_.get(), output_limit_min);
  output.append(KeptStream::out, "first\n");
  KeptReader reader(directory_.get(), 0);
  EXPECT_EQ(rest(reader), "first\n");
  for (int i = 0; i < 40; ++i) output.append(KeptStream::out, std::string(kept_record_bytes_max, static_cast<char>('a' + i % 26)));
  const std::string got = rest(reader);
  EXPECT_GT(reader.take_dropped(), 0u);
  EXPECT_EQ(got.back(), 'a' + 39 % 26);
}

TEST_F(Kept, ARecordThatIsNotFinishedIsWaitedFor) {
  KeptOutput output(directory_.get(), output_limit_min);
  output.append(KeptStream::out, "whole");
  output.append(KeptStream::out, "torn");
  const std::string file = path_ + "/output-0000000000000000";
  for (std::uint64_t size = 45 + 43; size >= 45; --size) {
    std::filesystem::resize_file(file, size);
    KeptReader reader(directory_.get(), 0);
    EXPECT_EQ(rest(reader), "whole");
  }
}

TEST_F(Kept, DamageIsAnError) {
  KeptOutput output(directory_.get(), output_limit_min);
  output.append(KeptStream::out, "whole");
  std::ofstream(path_ + "/output-0000000000000000", std::ios::app) << "something else, of the length that a record's head would have";
  KeptReader reader(directory_.get(), 0);
  EXPECT_EQ(rest(reader), "wholeerror: the kept output is damaged");
}

TEST_F(Kept, WhatCannotBeWrittenIsSaid) {
  KeptOutput output(directory_.get(), output_limit_min);
  output.append(KeptStream::out, "before\n");
  const std::string block(60'000, 'z');
  output.append(KeptStream::out, block);
  output.append(KeptStream::out, block);
  // The next file cannot be made.
  const std::string next = fmt::format("{}/output-{:016x}", path_, sizeof(KeptRecordHead) + 7 + 2 * (sizeof(KeptRecordHead) + block.size()));
  std::filesystem::create_directory(next);
  output.append(KeptStream::out, block);
  output.append(KeptStream::out, "short\n");  // fits the file that there is
  std::filesystem::remove(next);
  output.append(KeptStream::out, "after\n");
  KeptReader reader(directory_.get(), 0);
  const std::string got = rest(reader);
  EXPECT_EQ(got.substr(7 + 2 * block.size()), "[\nholdfast: 60000 bytes of output are not here: File exists\n]short\nafter\n");
}

// Whose unfinished line stands at the end.
TEST_F(Kept, WhoWroteLastIsLast) {
  auto last_of = [&](bool resumed) {
    KeptOutput output(directory_.get(), output_limit_min);
    auto marks = output.resume();
    EXPECT_TRUE(marks);
    if (resumed) return marks->back().rank;
    for (int rank : {2, 0, 1, 0}) output.append(KeptStream::out, "open", {.rank = rank, .open_bytes = 4});
    output.append(KeptStream::error, "said\n");
    return -1;
  };
  last_of(false);
  EXPECT_EQ(last_of(true), 0);
}

TEST_F(Kept, AnotherProcessGoesOn) {
  const std::string line = std::string(99, 'x') + "\n";
  std::uint64_t lines = 0;
  std::string all;
  KeptReader reader(directory_.get(), 0);
  for (int process = 0; process < 20; ++process) {
    KeptOutput output(directory_.get(), output_limit_min);
    auto marks = output.resume();
    ASSERT_TRUE(marks);
    if (process > 0) {
      ASSERT_EQ(marks->size(), 2u);
      EXPECT_EQ((*marks)[0].lines, 0u) << "said once, at the start, in a file that is gone";
      EXPECT_EQ((*marks)[0].open_bytes, 3u);
      EXPECT_EQ((*marks)[1].lines, lines);
    } else {
      output.append(KeptStream::out, "yes", {.rank = 1, .lines = 0, .open_bytes = 3});
    }
    for (int i = 0; i < 700; ++i) {
      output.append(KeptStream::error, line, {.rank = 1, .of_error = 1, .lines = ++lines});
      if (i % 100 == 0) output.append(KeptStream::error, "said\n");
    }
    all += rest(reader);
  }
  EXPECT_EQ(reader.take_dropped(), 0u);
  EXPECT_EQ(all.size(), 3 + 20 * (700 * (line.size() + 2) + 7 * 7u)) << "two brackets each";
}

// Killed at any byte: what goes on has all of an output with its mark, or nothing.
TEST_F(Kept, WhatWasNotFinishedIsRemoved) {
  const std::string first = "first\n", second(150'000, 'y');
  {
    KeptOutput output(directory_.get(), 8 * output_limit_min);
    output.append(KeptStream::out, first, {.rank = 0, .lines = 1});
    output.append(KeptStream::out, second, {.rank = 0, .lines = 1, .open_bytes = second.size()});
  }
  const std::string file = path_ + "/output-0000000000000000";
  const std::uint64_t begin = sizeof(KeptRecordHead) + first.size();
  for (std::uint64_t size = std::filesystem::file_size(file) - 1; size >= begin; size -= std::min<std::uint64_t>(size, 4999)) {
    std::filesystem::resize_file(file, size);
    KeptOutput output(directory_.get(), 8 * output_limit_min);
    auto marks = output.resume();
    ASSERT_TRUE(marks);
    ASSERT_EQ(marks->size(), 1u);
    EXPECT_EQ(marks->front().open_bytes, 0u);
    KeptReader reader(directory_.get(), 0);
    EXPECT_EQ(rest(reader), first);
    output.append(KeptStream::out, second, {.rank = 0, .lines = 1, .open_bytes = second.size()});
    EXPECT_EQ(rest(reader), second);
  }
}

TEST_F(Kept, DamageIsNotGoneOnWith) {
  std::ofstream(path_ + "/output-0000000000000000") << "something else, of the length that a record's head would have";
  KeptOutput output(directory_.get(), output_limit_min);
  auto marks = output.resume();
  ASSERT_FALSE(marks);
  EXPECT_EQ(marks.error().text, "the kept output is damaged");
}

}  // namespace
}  // namespace hf::daemon
