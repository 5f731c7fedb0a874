#include "daemon/input_reader.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "os/clock.hpp"

namespace hf::daemon {
namespace {

constexpr std::int64_t background_check_ms = 500;

// Reading a terminal from the background would stop this process.
bool in_background() {
  pid_t foreground = ::tcgetpgrp(STDIN_FILENO);
  return foreground > 0 && foreground != ::getpgrp();
}

}  // namespace

void InputReader::start() {
  started_ = true;
  look();
}

void InputReader::stop() {
  if (polled_) loop_.remove(STDIN_FILENO);
  polled_ = false;
  loop_.cancel(timer_);
  ended_ = true;
}

void InputReader::on_taken(std::uint64_t bytes) {
  ahead_ -= std::min(bytes, ahead_);
  look();
}

void InputReader::look() {
  if (!started_ || ended_ || timer_ != 0) return;
  bool room = ahead_ < window_bytes;
  if (polled_ && (!room || in_background())) {
    loop_.remove(STDIN_FILENO);
    polled_ = false;
  }
  if (!room || polled_) return;
  if (in_background()) {
    timer_ = loop_.at(os::later(os::now(), background_check_ms * os::millisecond_ns), [this] {
      timer_ = 0;
      look();
    });
    return;
  }
  polled_ = loop_.add(STDIN_FILENO, EPOLLIN, [this](std::uint32_t) { read_some(); });
  if (polled_) return;
  // A regular file: always readable. Through the loop, so that everything else goes on too.
  timer_ = loop_.at(os::now(), [this] {
    timer_ = 0;
    read_some();
  });
}

void InputReader::read_some() {
  if (in_background()) return look();
  std::array<std::byte, 32 * 1024> piece;
  ssize_t n = ::read(STDIN_FILENO, piece.data(), piece.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return look();
  if (n <= 0) {
    stop();
    return on_bytes_({});
  }
  ahead_ += static_cast<std::uint64_t>(n);
  on_bytes_(Bytes(piece).first(static_cast<std::size_t>(n)));
  look();
}

}  // namespace hf::daemon
