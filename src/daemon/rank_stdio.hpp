// The agent's ends of one rank's stdin, stdout and stderr.
#pragma once
#include <functional>

#include "base/bytes.hpp"
#include "daemon/control_messages.hpp"
#include "os/event_loop.hpp"

namespace hf::daemon {

inline constexpr std::size_t output_read_bytes = 64 * 1024;  // at most, at once

// What the job was given on stdin, kept so that each incarnation of rank 0 gets it from the start.
class InputKeeper {
 public:
  InputKeeper() = default;
  // What another process has kept in that file, which both hold.
  InputKeeper(os::UniqueFd file, std::uint64_t size, bool ended) : file_(std::move(file)), size_(size), ended_(ended) {}
  Result<> append(Bytes bytes);
  void end() { ended_ = true; }
  std::uint64_t size() const { return size_; }
  bool ended() const { return ended_; }
  int fd() const { return file_.get(); }

 private:
  os::UniqueFd file_;
  std::uint64_t size_ = 0;
  bool ended_ = false;
};

// Writes what the keeper has into one incarnation's stdin.
class InputFeeder {
 public:
  // `on_progress(position)`: the incarnation's pipe has taken that many bytes.
  InputFeeder(os::EventLoop& loop, const InputKeeper& keeper, std::function<void(std::uint64_t)> on_progress)
      : loop_(loop), keeper_(keeper), on_progress_(std::move(on_progress)) {}
  ~InputFeeder() { close(); }
  Result<os::UniqueFd> open();  // a new incarnation: the end to become its stdin
  void on_more();               // the keeper has more, or its end
  void close();

 private:
  void feed();
  os::EventLoop& loop_;
  const InputKeeper& keeper_;
  std::function<void(std::uint64_t)> on_progress_;
  os::UniqueFd pipe_;
  std::uint64_t position_ = 0;
};

class OutputPipe {
 public:
  using OnBytes = std::function<void(OutputStream stream, Bytes bytes)>;
  OutputPipe(os::EventLoop& loop, OutputStream stream, OnBytes on_bytes)
      : loop_(loop), stream_(stream), on_bytes_(std::move(on_bytes)) {}
  ~OutputPipe() { close(); }
  OutputPipe(const OutputPipe&) = delete;
  Result<os::UniqueFd> open();  // a new incarnation: the end to become its stdout or stderr
  void pause(bool paused);      // back-pressure: while paused nothing is read
  void drain();                 // reads all that is there now, also when paused, and closes
  void close();

 private:
  void read_some();
  os::EventLoop& loop_;
  OutputStream stream_;
  OnBytes on_bytes_;
  os::UniqueFd pipe_;
  bool paused_ = false;
};

}  // namespace hf::daemon
