#include "daemon/rank_stdio.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "os/memory_file.hpp"
#include "os/tcp.hpp"

namespace hf::daemon {
namespace {

constexpr std::size_t piece_bytes = output_read_bytes;

Result<> make_pipe(os::UniqueFd& read_end, os::UniqueFd& write_end) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  return {};
}

}  // namespace

Result<> InputKeeper::append(Bytes bytes) {
  if (!file_) {
    Result<os::UniqueFd> file = os::make_memory_file("holdfast-stdin", 0);
    if (!file) return std::unexpected(file.error());
    file_ = std::move(*file);
  }
  while (!bytes.empty()) {
    ssize_t n = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(fmt::format("cannot keep stdin for rank 0: {}", std::strerror(errno)));
    size_ += static_cast<std::uint64_t>(n);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Result<os::UniqueFd> InputFeeder::open() {
  close();
  os::UniqueFd read_end;
  if (Result<> made = make_pipe(read_end, pipe_); !made) return std::unexpected(made.error());
  os::set_non_blocking(pipe_.get());
  position_ = 0;
  loop_.add(pipe_.get(), EPOLLOUT, [this](std::uint32_t events) {
    if (events & EPOLLERR) return close();  // no reader is left
    feed();
  });
  return read_end;
}

void InputFeeder::on_more() {
  if (pipe_) feed();
}

void InputFeeder::close() {
  if (pipe_) loop_.remove(pipe_.get());
  pipe_.reset();
}

void InputFeeder::feed() {
  std::array<char, piece_bytes> piece;
  while (position_ < keeper_.size()) {
    ssize_t n = ::pread(keeper_.fd(), piece.data(), piece.size(), static_cast<off_t>(position_));
    if (n <= 0) return close();
    ssize_t written = ::write(pipe_.get(), piece.data(), static_cast<std::size_t>(n));
    if (written < 0 && errno == EAGAIN) return loop_.modify(pipe_.get(), EPOLLOUT);
    if (written < 0) return close();  // the rank reads no more: the rest stays in the keeper
    position_ += static_cast<std::uint64_t>(written);
    on_progress_(position_);
  }
  if (keeper_.ended()) return close();
  loop_.modify(pipe_.get(), 0);  // until on_more()
}

Result<os::UniqueFd> OutputPipe::open() {
  close();
  os::UniqueFd write_end;
  if (Result<> made = make_pipe(pipe_, write_end); !made) return std::unexpected(made.error());
  os::set_non_blocking(pipe_.get());
  loop_.add(pipe_.get(), paused_ ? 0u : std::uint32_t{EPOLLIN}, [this](std::uint32_t) { read_some(); });
  return write_end;
}

void OutputPipe::pause(bool paused) {
  paused_ = paused;
  if (!pipe_) return;
  // A hang-up is reported even when nothing is asked for: a paused pipe leaves the loop altogether.
  loop_.remove(pipe_.get());
  if (!paused) loop_.add(pipe_.get(), EPOLLIN, [this](std::uint32_t) { read_some(); });
}

void OutputPipe::read_some() {
  std::array<std::byte, piece_bytes> piece;
  ssize_t n = ::read(pipe_.get(), piece.data(), piece.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return close();
  on_bytes_(stream_, Bytes(piece).first(static_cast<std::size_t>(n)));
}

void OutputPipe::drain() {
  std::array<std::byte, piece_bytes> piece;
  while (pipe_) {
    ssize_t n = ::read(pipe_.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    on_bytes_(stream_, Bytes(piece).first(static_cast<std::size_t>(n)));
  }
  close();
}

void OutputPipe::close() {
  if (pipe_) loop_.remove(pipe_.get());
  pipe_.reset();
}

}  // namespace hf::daemon
