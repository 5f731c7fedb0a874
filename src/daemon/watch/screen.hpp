// A terminal for a full-screen command, by ncurses: restored when this object goes, also when a signal ends the command.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "os/unique_fd.hpp"

namespace hf::daemon {

class Screen {
 public:
  enum class Key { none, quit, sort, up, down, page_up, page_down, first, last, resized, other };
  struct Line {
    std::string text;  // printable UTF-8; what does not fit is cut off
    bool reversed = false;
  };

  // Standard input and output. One at a time; until it goes, SIGINT, SIGTERM, SIGHUP and SIGWINCH come through it.
  static Result<std::unique_ptr<Screen>> open();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  int height() const;
  void draw(const std::vector<Line>& lines);  // from the top; the rest is empty
  // Waits so long for a key.
  Key wait(int ms);
  int ended_by() const { return signal_; }  // the signal that asks to end; 0: none

 private:
  explicit Screen(os::UniqueFd signals) : signals_(std::move(signals)) {}
  void take_signals();
  os::UniqueFd signals_;
  int signal_ = 0;
  bool resized_ = false;
};

}  // namespace hf::daemon
