// Reading the memory of another process, and refusing when it is not the one that was meant.
#include "os/process_memory.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace hf::os {
namespace {

MemoryCookie cookie;
std::uint64_t cookie_address() { return reinterpret_cast<std::uint64_t>(&cookie); }

// A child with the same addresses, which waits for its end.
struct Child {
  Child() {
    pid = ::fork();
    if (pid != 0) return;
    ::pause();
    ::_exit(0);
  }
  ~Child() { end(); }
  void end() {
    if (pid <= 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    pid = 0;
  }
  pid_t pid;
};

TEST(ProcessMemory, ReadsWhatTheOtherHas) {
  cookie = random_cookie().value();
  std::vector<std::byte> here(300'000, std::byte{7});
  Child child;
  here.assign(here.size(), std::byte{1});
  ProcessMemory memory;
  ASSERT_TRUE(memory.open(child.pid, cookie_address(), cookie));
  std::vector<std::byte> read(here.size());
  ASSERT_TRUE(memory.read(reinterpret_cast<std::uint64_t>(here.data()), read));
  EXPECT_EQ(read, std::vector<std::byte>(here.size(), std::byte{7}));
  EXPECT_TRUE(memory.alive());
}

TEST(ProcessMemory, WritesWhatTheOtherReads) {
  cookie = random_cookie().value();
  std::vector<std::byte> there(300'000, std::byte{7});
  Child child;
  ProcessMemory memory;
  ASSERT_TRUE(memory.open(child.pid, cookie_address(), cookie));
  const auto address = reinterpret_cast<std::uint64_t>(there.data());
  ASSERT_TRUE(memory.write(address, std::vector<std::byte>(200'000, std::byte{3})));
  std::vector<std::byte> read(there.size());
  ASSERT_TRUE(memory.read(address, read));
  std::vector<std::byte> expected(there.size(), std::byte{7});
  std::fill_n(expected.begin(), 200'000, std::byte{3});
  EXPECT_EQ(read, expected);
  EXPECT_FALSE(memory.write(16, read)) << "nothing is mapped there";
  child.end();
  EXPECT_FALSE(memory.write(address, read)) << "it has ended";
}

TEST(ProcessMemory, AnotherProcessIsRefused) {
  cookie = random_cookie().value();
  Child child;
  ProcessMemory memory;
  EXPECT_FALSE(memory.open(child.pid, cookie_address(), random_cookie().value())) << "another cookie stands there";
  EXPECT_FALSE(memory.open(child.pid, 16, cookie)) << "nothing is mapped there";
  EXPECT_FALSE(memory.open(0, cookie_address(), cookie));
  pid_t gone = child.pid;
  child.end();
  EXPECT_FALSE(memory.open(gone, cookie_address(), cookie));
  EXPECT_FALSE(memory.is_open());
  EXPECT_FALSE(memory.alive());
}

TEST(ProcessMemory, ADeathIsSeenAndAHoleIsNotRead) {
  cookie = random_cookie().value();
  auto* pages = static_cast<std::byte*>(::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(::munmap(pages + 4096, 4096), 0);
  Child child;
  ProcessMemory memory;
  ASSERT_TRUE(memory.open(child.pid, cookie_address(), cookie));
  std::vector<std::byte> read(8192);
  EXPECT_FALSE(memory.read(reinterpret_cast<std::uint64_t>(pages), read)) << "half of it is not there";
  child.end();
  EXPECT_FALSE(memory.alive());
  ::munmap(pages, 4096);
}

}  // namespace
}  // namespace hf::os
