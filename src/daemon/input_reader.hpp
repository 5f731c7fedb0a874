// Reads the head's stdin for rank 0, never more ahead than a window.
#pragma once
#include <functional>

#include "base/bytes.hpp"
#include "os/event_loop.hpp"

namespace hf::daemon {

class InputReader {
 public:
  // `on_bytes`: with an empty argument at the end of stdin, then never again.
  InputReader(os::EventLoop& loop, std::function<void(Bytes)> on_bytes) : loop_(loop), on_bytes_(std::move(on_bytes)) {}
  ~InputReader() { stop(); }
  void start();
  void on_taken(std::uint64_t bytes);  // so many were passed on
  void stop();

 private:
  static constexpr std::uint64_t window_bytes = 256 * 1024;
  void look();  // arranges for the next read
  void read_some();
  os::EventLoop& loop_;
  std::function<void(Bytes)> on_bytes_;
  std::uint64_t ahead_ = 0;
  bool started_ = false, ended_ = false, polled_ = false;
  os::EventLoop::TimerId timer_ = 0;
};

}  // namespace hf::daemon
