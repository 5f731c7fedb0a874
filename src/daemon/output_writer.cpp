#include "daemon/output_writer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "os/error_text.hpp"

namespace hf::daemon {

OutputWriter::OutputWriter(os::EventLoop& loop, int fd, OnBroken on_broken)
    : loop_(loop), fd_(fd), on_broken_(std::move(on_broken)) {
  struct stat status {};
  // The descriptor is shared with others and so is not made non-blocking: a pipe that polls as writable takes PIPE_BUF bytes without
  // waiting, a file takes all. A terminal, which may take less, is opened once more for this.
  if (::isatty(fd) != 0) own_ = os::UniqueFd(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (own_) fd_ = own_.get();
  pollable_ = ::fstat(fd, &status) == 0 && !S_ISREG(status.st_mode);
}

OutputWriter::~OutputWriter() {
  wait_for_room(false);
}

void OutputWriter::write(std::string bytes, const KeptMark&, std::function<void()> on_written) {
  queue_.push_back({std::move(bytes), std::move(on_written)});
  if (!waiting_) flush();
}

void OutputWriter::wait_for_room(bool wait) {
  if (std::exchange(waiting_, wait) == wait) return;
  if (!wait) return loop_.remove(fd_);
  if (!loop_.add(fd_, EPOLLOUT, [this](std::uint32_t) { flush(); })) pollable_ = waiting_ = false;
}

void OutputWriter::discard() {
  broken_ = true;
  flush();
}

void OutputWriter::flush() {
  while (!queue_.empty()) {
    Piece& piece = queue_.front();
    std::size_t left = piece.bytes.size() - written_;
    if (left > 0 && !broken_) {
      if (pollable_) {
        pollfd look{fd_, POLLOUT, 0};
        if (::poll(&look, 1, 0) == 0) return wait_for_room(true);
        left = std::min<std::size_t>(left, PIPE_BUF);
      }
      ssize_t n = ::write(fd_, piece.bytes.data() + written_, left);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return wait_for_room(true);
      if (n < 0 && errno != EPIPE && !on_broken_) {  // there may be room for what follows
        written_ = piece.bytes.size();
        continue;
      }
      if (n < 0) {
        broken_ = true;
        if (on_broken_) on_broken_(errno == EPIPE ? "" : os::error_text(errno));
        continue;
      }
      written_ += static_cast<std::size_t>(n);
      continue;
    }
    auto done = std::move(piece.on_written);
    queue_.pop_front();
    written_ = 0;
    if (done) done();
  }
  wait_for_room(false);
}

}  // namespace hf::daemon
