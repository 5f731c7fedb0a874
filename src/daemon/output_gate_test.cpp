#include "daemon/output_gate.hpp"

#include <gtest/gtest.h>

#include <random>

namespace hf::daemon {
namespace {

std::string feed(OutputGate& gate, std::string_view text) {
  std::string out;
  gate.on_bytes(text, out);
  return out;
}

TEST(OutputGate, PassesWholeLines) {
  OutputGate gate;
  EXPECT_EQ(feed(gate, "one\ntw"), "one\n");
  EXPECT_TRUE(gate.has_open_line());
  EXPECT_EQ(feed(gate, "o\n"), "two\n");
  EXPECT_FALSE(gate.has_open_line());
}

TEST(OutputGate, SkipsWhatWasPassedOn) {
  OutputGate gate;
  feed(gate, "one\ntwo\nthr");
  gate.on_restart();
  EXPECT_EQ(feed(gate, "one\ntw"), "");
  EXPECT_EQ(feed(gate, "o\nthree\nfour\n"), "three\nfour\n");
  EXPECT_FALSE(gate.take_difference());
}

// Whatever the position from which the incarnation writes again, and however often it starts again after that.
TEST(OutputGate, GoesOnForOneThatIsGone) {
  const std::string text = "one\ntwo\nthree\nfour\nfive\n";
  for (std::size_t passed_bytes = 0; passed_bytes <= text.size(); ++passed_bytes) {
    for (std::size_t next_bytes = 0; next_bytes <= passed_bytes; ++next_bytes) {
      auto position = [&](std::size_t bytes) {
        OutputGate::Position out;
        for (char c : text.substr(0, bytes)) c == '\n' ? (++out.lines, out.open_bytes = 0) : ++out.open_bytes;
        return out;
      };
      OutputGate gate;
      EXPECT_TRUE(gate.resume(position(passed_bytes), position(next_bytes)));
      std::string out = feed(gate, text.substr(next_bytes, 9));
      gate.pass_open_line(out);
      gate.on_restart();
      out += feed(gate, text.substr(0, 7));
      gate.on_restart();
      out += feed(gate, text);
      EXPECT_EQ(out, text.substr(passed_bytes));
      EXPECT_EQ(gate.passed(), position(text.size()));
      EXPECT_FALSE(gate.take_difference()) << passed_bytes << " " << next_bytes;
    }
  }
}

TEST(OutputGate, ComparesWhatItHasPassedOnItself) {
  OutputGate gate;
  EXPECT_TRUE(gate.resume({1, 2}, {1, 0}));
  EXPECT_EQ(feed(gate, "two\nthree\n"), "o\nthree\n");
  gate.on_restart();
  EXPECT_EQ(feed(gate, "One\ntwo\nThree\n"), "");
  EXPECT_EQ(gate.take_difference(), 3u);
}

TEST(OutputGate, SaysThatOutputIsLostInBetween) {
  OutputGate gate;
  EXPECT_FALSE(gate.resume({1, 2}, {2, 1}));
  EXPECT_EQ(feed(gate, "ree\nfour\n"), "ree\nfour\n");
}

TEST(OutputGate, SkipsInsideAnOpenLine) {
  OutputGate gate;
  std::string out = feed(gate, "ab\nprompt");
  gate.pass_open_line(out);
  EXPECT_EQ(out, "ab\nprompt");
  gate.on_restart();
  EXPECT_EQ(feed(gate, "ab\npro"), "");
  EXPECT_EQ(feed(gate, "mpt> x\n"), "> x\n");
  EXPECT_FALSE(gate.take_difference());
}

TEST(OutputGate, ReportsADifferenceOnce) {
  OutputGate gate;
  feed(gate, "pid 1\nb\n");
  for (int i = 0; i < 2; ++i) {
    gate.on_restart();
    EXPECT_EQ(feed(gate, "pid 2\nb\n"), "");
    auto line = gate.take_difference();
    EXPECT_EQ(line.has_value(), i == 0);
    if (line) {
      EXPECT_EQ(*line, 1u);
    }
  }
  EXPECT_EQ(feed(gate, "c\n"), "c\n");
}

TEST(OutputGate, ReportsADifferenceInAnOpenLine) {
  OutputGate gate;
  std::string out = feed(gate, "abc");
  gate.pass_open_line(out);
  gate.on_restart();
  EXPECT_EQ(feed(gate, "abd\n"), "\n");
  EXPECT_EQ(gate.take_difference(), 1u);
}

TEST(OutputGate, ShorterLineThanPassedOnIsEnded) {
  OutputGate gate;
  std::string out = feed(gate, "abc");
  gate.pass_open_line(out);
  gate.on_restart();
  EXPECT_EQ(feed(gate, "a\nnext\n"), "\nnext\n");
  EXPECT_EQ(gate.take_difference(), 1u);
}

TEST(OutputGate, LessOutputThanBeforeIsADifference) {
  OutputGate gate;
  feed(gate, "a\nb\n");
  gate.on_restart();
  std::string out = feed(gate, "a\n");
  gate.on_end(true, out);
  EXPECT_EQ(out, "");
  EXPECT_EQ(gate.take_difference(), 2u);
}

TEST(OutputGate, WhoWasEndedInItsReplayWroteNothingElse) {
  OutputGate gate;
  feed(gate, "a\nb\n");
  gate.on_restart();
  std::string out = feed(gate, "a\nc");
  gate.on_end(false, out);
  EXPECT_EQ(out, "");
  EXPECT_FALSE(gate.take_difference());
}

TEST(OutputGate, AnotherLineBeforeThatIsADifference) {
  OutputGate gate;
  feed(gate, "a\nb\nc\n");
  gate.on_restart();
  std::string out = feed(gate, "A\n");
  gate.on_end(false, out);
  EXPECT_EQ(gate.take_difference(), 1u);
}

TEST(OutputGate, WhatIsWrittenInsteadIsKept) {
  OutputGate gate;
  feed(gate, "a\nb\nc\n");
  gate.on_restart();
  feed(gate, "a\nwhy");
  EXPECT_EQ(gate.take_instead(), "");
  feed(gate, " it ends\nhere\n");
  EXPECT_EQ(gate.take_instead(), "why it ends\nhere\n");
  gate.on_restart();
  feed(gate, "b\n");
  gate.on_restart();
  feed(gate, "a\n");
  EXPECT_EQ(gate.take_instead(), "") << "by another incarnation";
  feed(gate, std::string(2 * OutputGate::instead_max, 'x') + "\nend\n");
  EXPECT_EQ(gate.take_instead(), std::string(OutputGate::instead_max, 'x') + "\n") << "no room for the rest";
}

TEST(OutputGate, LongOpenLinePasses) {
  OutputGate gate;
  std::string text(OutputGate::open_bytes_max + 10, 'x');
  EXPECT_EQ(feed(gate, text), text);
  gate.on_restart();
  EXPECT_EQ(feed(gate, text + "\n"), "\n");
  EXPECT_FALSE(gate.take_difference());
}

TEST(OutputGate, ExactlyOnceWhateverTheCuts) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n)(random); };
  for (int round = 0; round < 300; ++round) {
    std::string text, out;
    while (text.size() < 400) text += random() % 6 == 0 ? '\n' : 'a' + static_cast<char>(random() % 26);
    OutputGate gate;
    for (int incarnation = 0; incarnation < 5; ++incarnation) {
      if (incarnation) gate.on_restart();
      std::size_t end = incarnation == 4 ? text.size() : below(text.size());
      for (std::size_t at = 0; at < end;) {
        std::size_t n = std::min(end - at, 1 + below(60));
        gate.on_bytes(std::string_view(text).substr(at, n), out);
        if (random() % 3 == 0) gate.pass_open_line(out);
        at += n;
      }
    }
    gate.on_end(true, out);
    ASSERT_EQ(out, text);
    ASSERT_FALSE(gate.take_difference());
  }
}

TEST(LineHashes, BoundedAndStillExact) {
  LineHashes hashes(8);
  for (std::uint64_t i = 0; i < 1000; ++i) hashes.append(i * 77);
  for (std::uint64_t wrong : {std::uint64_t{1000}, std::uint64_t{0}, std::uint64_t{500}, std::uint64_t{999}}) {
    LineHashes::Replay replay;
    bool same = true;
    for (std::uint64_t i = 0; i < 1000; ++i) same = replay.check(hashes, i == wrong ? 1 : i * 77) && same;
    EXPECT_EQ(same, wrong == 1000) << wrong;
  }
}

}  // namespace
}  // namespace hf::daemon
