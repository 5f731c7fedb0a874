#include "os/process.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <filesystem>
#include <fstream>
#include <thread>

namespace hf::os {
namespace {

int policy_of(pid_t thread) { return ::sched_getscheduler(thread) & ~SCHED_RESET_ON_FORK; }

// What is said of a file with these bytes that is to be run.
std::string failure_of(const std::string& bytes) {
  std::string directory = std::filesystem::temp_directory_path() / "holdfast-test-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return "no directory";
  Command command;
  command.path = "./file";
  command.working_directory = directory;
  command.arguments = {"file"};
  std::ofstream(directory + "/file") << bytes;
  std::filesystem::permissions(directory + "/file", std::filesystem::perms::owner_all);
  const auto started = start_process(command);
  if (started) ::waitpid(*started, nullptr, 0);
  std::filesystem::remove_all(directory);
  return started ? "" : started.error().text;
}

TEST(StartProcess, SaysWhichInterpreterIsMissing) {
  EXPECT_EQ(failure_of("#!/bin/sh\n"), "");
  EXPECT_EQ(failure_of("#! /no/such/interpreter -x\n"), "cannot run ./file: its first line names /no/such/interpreter, which is not there");
  EXPECT_EQ(failure_of("#!no/such"), "cannot run ./file: its first line names no/such, which is not there");
  EXPECT_NE(failure_of("#!/bin/sh\r\n").find("carriage return, as on DOS, which counts as a part of /bin/sh:"), std::string::npos);
  EXPECT_EQ(failure_of("#!\n"), "cannot run ./file: Exec format error");
  EXPECT_EQ(failure_of("text"), "cannot run ./file: Exec format error");
}

TEST(StartProcess, SaysWhichLoaderIsMissing) {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::string program{std::istreambuf_iterator<char>(file), {}};
  const std::size_t loader = program.find("/lib64/ld-linux-x86-64.so.2");
  if (loader == std::string::npos) GTEST_SKIP() << "this test has another loader";
  program[loader + 1] = 'x';
  EXPECT_EQ(failure_of(program), "cannot run ./file: its loader /xib64/ld-linux-x86-64.so.2 is not there: it was built for another system");
  program.resize(100);
  EXPECT_NE(failure_of(program), "");
}

TEST(MoveToShare, GoesToACoreAndLeavesTheAffinity) {
  std::thread([] {
    cpu_set_t before, after;
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    int first = 0, last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(first, &before)) ++first;
    while (!CPU_ISSET(last, &before)) --last;
    const int cores = usable_cores();
    // Where it is put it may be moved away from again: not each time, then.
    auto reaches = [cores](int core, int index, int count) {
      for (int i = 0; i < 100; ++i) {
        move_to_share(index, count, cores);
        if (::sched_getcpu() == core) return true;
      }
      return false;
    };
    EXPECT_TRUE(reaches(last, 2 * cores - 1, 2 * cores));
    EXPECT_TRUE(reaches(first, 1, 2 * cores));
    move_to_share(7, 3, cores);  // none of them
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    move_to_share(0, 2, cores + 1);  // bound to fewer
    EXPECT_EQ(::sched_getcpu(), last);
    ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
    ASSERT_EQ(::sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
  }).join();
}

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

TEST(RunBeforeOthers, ItsChildrenAreAsNiceAsItWas) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setpriority(PRIO_PROCESS, 0, 7) != 0 || !run_before_others()) ::_exit(100);
    Command command;
    command.path = "/bin/sh";
    command.arguments = {"sh", "-c", "nice"};
    const auto said = output_of(command);
    ::_exit(said && *said == "7\n" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 100) GTEST_SKIP() << "not allowed here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(OwnThreads, AreCounted) {
  const int before = own_threads();
  EXPECT_GE(before, 1);
  std::barrier both(2);
  std::thread other([&] {
    both.arrive_and_wait();
    both.arrive_and_wait();
  });
  both.arrive_and_wait();
  EXPECT_EQ(own_threads(), before + 1);
  both.arrive_and_wait();
  other.join();
}

}  // namespace
}  // namespace hf::os
