// A simulated program is a coroutine that calls Process as a program calls MPI. It may depend on its arguments and on what the
// calls return, on nothing else.
#pragma once
#include <coroutine>
#include <cstdint>
#include <exception>
#include <utility>

namespace hf::sim::job {

class Program {
 public:
  struct promise_type {
    std::uint64_t result = 0;
    Program get_return_object() { return Program(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_value(std::uint64_t value) { result = value; }
    void unhandled_exception() { std::terminate(); }
  };
  Program() = default;
  Program(Program&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Program& operator=(Program&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Program() {
    if (handle_) handle_.destroy();
  }
  void start() { handle_.resume(); }
  bool done() const { return handle_ && handle_.done(); }
  std::uint64_t result() const { return handle_.promise().result; }

 private:
  explicit Program(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace hf::sim::job
