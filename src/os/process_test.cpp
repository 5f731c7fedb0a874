#include "os/process.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace hf::os {
namespace {

std::uint64_t slice_ns() {
  std::uint64_t words[6] = {};  // sched_getattr(2): the fourth is what a process of the usual policy asks for
  return ::syscall(SYS_sched_getattr, 0, words, sizeof words, 0) == 0 ? words[3] : 0;
}

// In a process of its own, and in a child of that.
std::pair<std::uint64_t, std::uint64_t> slices_after_asking() {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  if (::fork() == 0) {
    ask_short_slices();
    std::pair<std::uint64_t, std::uint64_t> slices{slice_ns(), 0};
    const pid_t child = ::fork();
    if (child == 0) {
      slices.second = slice_ns();
      ::_exit(::write(ends[1], &slices, sizeof slices) != sizeof slices);
    }
    ::waitpid(child, nullptr, 0);
    ::_exit(0);
  }
  std::pair<std::uint64_t, std::uint64_t> slices;
  EXPECT_EQ(::read(ends[0], &slices, sizeof slices), ssize_t{sizeof slices});
  ::wait(nullptr);
  ::close(ends[0]);
  ::close(ends[1]);
  return slices;
}

TEST(Process, ShortSlicesAreNotForItsChildren) {
  const std::uint64_t usual = slice_ns();
  if (::getpriority(PRIO_PROCESS, 0) < 0) GTEST_SKIP() << "what this process was given would have to stay with it";
  if (usual == 0) GTEST_SKIP() << "this kernel knows no slices of single processes (Linux 6.12)";
  auto [asked, child] = slices_after_asking();
  EXPECT_EQ(asked, 100'000u);
  EXPECT_EQ(child, usual);
}

}  // namespace
}  // namespace hf::os
