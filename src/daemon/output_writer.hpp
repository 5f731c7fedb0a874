// Writes to one of the head's own descriptors without ever waiting for its reader.
#pragma once
#include <deque>
#include <functional>
#include <string>

#include "os/event_loop.hpp"

namespace hf::daemon {

class OutputWriter {
 public:
  // `on_broken`: the reader is gone; what follows is discarded.
  OutputWriter(os::EventLoop& loop, int fd, std::function<void()> on_broken);
  ~OutputWriter();
  // `on_written` once all of it has left, or was discarded.
  void write(std::string bytes, std::function<void()> on_written = {});
  bool empty() const { return queue_.empty(); }
  void discard();  // and all that follows

 private:
  struct Piece {
    std::string bytes;
    std::function<void()> on_written;
  };
  void flush();
  void wait_for_room(bool wait);

  os::EventLoop& loop_;
  int fd_;
  std::function<void()> on_broken_;
  std::deque<Piece> queue_;
  std::size_t written_ = 0;  // of the first piece
  bool pollable_ = true, waiting_ = false, broken_ = false;
};

}  // namespace hf::daemon
