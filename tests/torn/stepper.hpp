// Steps a forked child through a piece of code, instruction by instruction, and lets the parent look at the memory that
// they share after each: what a reader would find if the child were killed there (design rule 9).
#pragma once
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>

namespace hf::torn {

// Zeroed memory that a forked child shares with its parent, at the same address.
inline std::byte* shared_memory(std::size_t bytes) {
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) std::perror("mmap"), std::exit(1);
  return static_cast<std::byte*>(p);
}

// A child that stands still before `work`.
class Child {
 public:
  explicit Child(const std::function<void()>& work) {
    std::fflush(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(77);
      ::raise(SIGSTOP);
      work();
      ::_exit(0);
    }
    ::waitpid(pid_, &status_, 0);
  }
  ~Child() {
    if (ended()) return;
    kill();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool ended() const { return WIFEXITED(status_) || WIFSIGNALED(status_); }
  bool forbidden() const { return WIFEXITED(status_) && WEXITSTATUS(status_) == 77; }
  bool failed() const { return ended() && !(WIFEXITED(status_) && WEXITSTATUS(status_) == 0); }
  // One instruction. False: the child has ended.
  bool step() {
    if (::ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr) != 0) return false;
    ::waitpid(pid_, &status_, 0);
    return !ended();
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status_, 0);
  }

 private:
  pid_t pid_ = -1;
  int status_ = 0;
};

}  // namespace hf::torn
