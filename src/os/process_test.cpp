#include "os/process.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace hf::os {
namespace {

int policy_of(pid_t thread) { return ::sched_getscheduler(thread) & ~SCHED_RESET_ON_FORK; }

TEST(RunBeforeOthers, IsOfTheCallingThreadAloneAndNotOfItsChildren) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!run_before_others()) ::_exit(100);
    int of_thread = -1;
    std::thread([&] { of_thread = policy_of(0); }).join();
    const pid_t grandchild = ::fork();
    if (grandchild == 0) ::_exit(policy_of(0));
    int status = 0;
    ::waitpid(grandchild, &status, 0);
    const bool right = policy_of(0) == SCHED_RR && of_thread == SCHED_OTHER && WEXITSTATUS(status) == SCHED_OTHER;
    ::_exit(right && !run_before_others() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 100) GTEST_SKIP() << "not allowed here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace hf::os
