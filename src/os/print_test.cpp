#include "os/print.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "os/pipe.hpp"
#include "os/unique_fd.hpp"

namespace hf::os {
namespace {

// stdout and stderr are another file meanwhile.
class Redirected {
 public:
  explicit Redirected(int to) {
    std::fflush(nullptr);
    for (int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      before_[fd - 1].reset(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
      ::dup2(to, fd);
    }
  }
  ~Redirected() {
    for (int fd : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(before_[fd - 1].get(), fd);
  }

 private:
  UniqueFd before_[2];
};

std::string failure_of(int fd, const std::string& text) {
  Redirected redirected(fd);
  print_error("{}", text);
  print_output("{}", text);
  Result<> first = flush_output(), second = flush_output();
  if (!second) return "told twice";
  return first ? "" : first.error().text;
}

TEST(Print, WhatCannotBeWrittenIsSaidOnceAndThrowsNothing) {
  UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC)), null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full && null);
  for (const std::string& text : {std::string("line\n"), std::string(1 << 20, 'x')}) {
    EXPECT_EQ(failure_of(full.get(), text), "cannot write: No space left on device") << text.size();
    EXPECT_EQ(failure_of(null.get(), text), "") << text.size();
  }
}

TEST(Print, AReaderThatIsGone) {
  Result<Pipe> pipe = make_pipe();
  ASSERT_TRUE(pipe);
  pipe->read.reset();
  auto before = ::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(failure_of(pipe->write.get(), "line\n"), "cannot write: Broken pipe");
  ::signal(SIGPIPE, before);
}

}  // namespace
}  // namespace hf::os
