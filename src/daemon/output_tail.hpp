// The last output of one stream of a rank's present incarnation, kept by its agent for a head that goes on for one that is lost: what the
// lost one had not passed on is among it. Pure.
#pragma once
#include <string>
#include <string_view>

#include "daemon/output_gate.hpp"

namespace hf::daemon {

class OutputTail {
 public:
  explicit OutputTail(std::size_t bytes_min) : bytes_min_(bytes_min) {}
  // Keeps the last `bytes_min` bytes and what stands before them in their first line, at most twice as much.
  void append(std::string_view bytes);
  void restart() { *this = OutputTail(bytes_min_); }  // another incarnation writes from its beginning
  OutputGate::Position begin() const { return begin_; }
  std::string_view bytes() const { return bytes_; }

 private:
  std::size_t bytes_min_;
  OutputGate::Position begin_;  // of bytes_
  std::string bytes_;
};

}  // namespace hf::daemon
