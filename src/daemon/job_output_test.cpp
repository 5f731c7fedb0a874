#include "daemon/job_output.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "os/clock.hpp"

namespace hf::daemon {
namespace {

using enum OutputStream;

class Sink final : public OutputSink {
 public:
  explicit Sink(std::string& text) : text_(text) {}
  void write(std::string bytes, const KeptMark&, std::function<void()> on_written) override {
    text_ += bytes;
    if (on_written) on_written();
  }
  bool empty() const override { return true; }
  void discard() override {}

 private:
  std::string& text_;
};

class JobOutputTest : public testing::Test {
 protected:
  static constexpr std::int64_t soon_ms = 300, late_ms = 1500;  // an unfinished line has stood long enough; what waited for it waits no more

  void begin(int ranks, bool label = false) {
    output_.emplace(loop_, ranks, label, [this](int, std::uint64_t bytes) { taken_ += bytes; }, std::make_unique<Sink>(out_),
                    std::make_unique<Sink>(error_));
  }
  void write(int rank, std::string_view text, OutputStream stream = out) {
    written_ += text.size();
    output_->on_bytes(rank, stream, bytes_of(text));
  }
  void pass(std::int64_t ms) {
    loop_.at(os::later(os::now(), ms * os::millisecond_ns), [this] { loop_.stop(); });
    loop_.run();
  }
  std::string shown() { return std::exchange(out_, {}); }

  os::EventLoop loop_;
  std::string out_, error_;
  std::uint64_t written_ = 0, taken_ = 0;
  std::optional<JobOutput> output_;
};

TEST_F(JobOutputTest, ABeginningWaitsForItsEnd) {
  begin(2);
  output_->set_answered(false);
  write(0, "one\ntw");
  write(1, "of 1\nthi");
  pass(soon_ms);
  EXPECT_EQ(shown(), "one\nof 1\n");
  EXPECT_EQ(taken_, written_) << "what waits must not keep its rank from writing";
  write(0, "o\n");
  write(1, "rd\n");
  EXPECT_EQ(shown(), "two\nthird\n");
  write(0, "last");
  output_->on_over(0, true);
  EXPECT_EQ(shown(), "last");
  write(1, std::string(OutputGate::open_bytes_max, 'x'));
  EXPECT_EQ(shown().size(), OutputGate::open_bytes_max);
}

TEST_F(JobOutputTest, TheOnlyRankIsNotMixedWithAnybody) {
  begin(1);
  output_->set_answered(false);
  write(0, "name? ");
  write(0, "and? ", error);
  EXPECT_EQ(shown(), "");
  pass(soon_ms);
  EXPECT_EQ(shown(), "name? ");
  EXPECT_EQ(error_, "and? ");
}

TEST_F(JobOutputTest, APromptIsShownToWhoComesToAnswerIt) {
  begin(2);
  output_->set_answered(false);
  write(0, "name? ");
  pass(soon_ms);
  EXPECT_EQ(shown(), "");
  output_->set_answered(true);
  pass(soon_ms);
  EXPECT_EQ(shown(), "name? ");
}

TEST_F(JobOutputTest, ATerminalShowsAllPrompts) {
  begin(3);
  output_->set_terminal(out, true);
  write(1, "one? ");
  write(2, "two? ");
  write(2, "two? ", error);
  pass(soon_ms);
  EXPECT_EQ(shown(), "one? two? ");
  EXPECT_EQ(error_, "");
  write(0, "at once\n");
  EXPECT_EQ(shown(), "at once\n");
  output_->set_terminal(out, false);
  write(1, "three? ");
  pass(soon_ms);
  EXPECT_EQ(shown(), "");
  output_->set_terminal(out, true);  // somebody has attached
  pass(soon_ms);
  EXPECT_EQ(shown(), "three? ");
}

TEST_F(JobOutputTest, OthersWaitForTheEndOfAPrompt) {
  begin(3);
  write(0, "name? ");
  pass(soon_ms);
  EXPECT_EQ(shown(), "name? ");
  write(1, "of 1\n");
  write(1, "err\n", error);
  write(2, "of 2\n");
  write(1, "more of 1\n");
  EXPECT_EQ(shown(), "");
  EXPECT_EQ(error_, "err\n");
  EXPECT_FALSE(output_->empty());
  write(0, "me\nwhat");
  EXPECT_EQ(shown(), "me\nof 1\nof 2\nmore of 1\n");
  EXPECT_TRUE(output_->empty());
  pass(soon_ms);
  EXPECT_EQ(shown(), "what");
  write(1, "of 1\n");
  output_->on_over(0, true);
  EXPECT_EQ(shown(), "of 1\n");
  EXPECT_EQ(taken_, written_);
}

TEST_F(JobOutputTest, AndNotForEver) {
  begin(2);
  write(0, "....");
  pass(soon_ms);
  write(1, "of 1\n");
  EXPECT_EQ(shown(), "....");
  pass(late_ms);
  EXPECT_EQ(shown(), "of 1\n");
  EXPECT_EQ(taken_, written_);
  write(0, "..\n");
  EXPECT_EQ(shown(), "..\n");
}

TEST_F(JobOutputTest, WhereOthersLeaveBeginningsTooNoneIsAPrompt) {
  begin(2);
  write(1, "of ");
  pass(soon_ms);
  write(1, "1\n");
  write(0, "name? ");
  pass(soon_ms);
  EXPECT_EQ(shown(), "of 1\n");
}

TEST_F(JobOutputTest, ARankThatWasEndedInItsReplayDidNotWriteOtherwise) {
  for (bool done : {false, true}) {
    begin(2);
    error_.clear();
    write(1, "one\ntwo\n");
    output_->on_started(1);
    write(1, "one\n");
    output_->on_over(1, done);
    EXPECT_EQ(shown(), "one\ntwo\n");
    EXPECT_EQ(error_, done ? "holdfast: rank 1: after its restart, line 2 of its standard output differs from what had been passed on\n" : "");
  }
}

TEST_F(JobOutputTest, AnotherHeadGoesOnBehindAPrompt) {
  begin(2);
  output_->resume({.rank = 0, .of_error = 0, .lines = 3, .open_bytes = 6});
  output_->resume_at(0, out, {3, 0});
  write(1, "of 1\n");
  EXPECT_EQ(shown(), "");
  write(0, "name? you\n");
  EXPECT_EQ(shown(), "you\nof 1\n");
}

}  // namespace
}  // namespace hf::daemon
