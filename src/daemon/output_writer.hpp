// Where output leaves the head, and one such place: its own descriptors, without ever waiting for their readers.
#pragma once
#include <deque>
#include <functional>
#include <string>

#include "daemon/clients/kept_output.hpp"
#include "os/event_loop.hpp"
#include "os/unique_fd.hpp"

namespace hf::daemon {

class OutputSink {
 public:
  virtual ~OutputSink() = default;
  // `on_written` once all of it has left, or was discarded. `mark`: whose it is, where the sink keeps it.
  virtual void write(std::string bytes, const KeptMark& mark, std::function<void()> on_written) = 0;
  virtual bool empty() const = 0;
  virtual void discard() = 0;  // and all that follows
};

class OutputWriter final : public OutputSink {
 public:
  // What follows is discarded. `why` is empty where the reader is gone, which needs no word. Without this function, what cannot be written for
  // another reason is discarded alone.
  using OnBroken = std::function<void(const std::string& why)>;
  OutputWriter(os::EventLoop& loop, int fd, OnBroken on_broken);
  ~OutputWriter() override;
  void write(std::string bytes, const KeptMark& mark, std::function<void()> on_written) override;
  bool empty() const override { return queue_.empty(); }
  void discard() override;

 private:
  struct Piece {
    std::string bytes;
    std::function<void()> on_written;
  };
  void flush();
  void wait_for_room(bool wait);

  os::EventLoop& loop_;
  int fd_;
  os::UniqueFd own_;
  OnBroken on_broken_;
  std::deque<Piece> queue_;
  std::size_t written_ = 0;  // of the first piece
  bool pollable_ = true, waiting_ = false, broken_ = false;
};

}  // namespace hf::daemon
