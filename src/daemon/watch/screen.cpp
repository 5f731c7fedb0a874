#include "daemon/watch/screen.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <utility>

#define NCURSES_NOMACROS
#include <ncurses.h>

#include "os/process.hpp"

namespace hf::daemon {

Result<std::unique_ptr<Screen>> Screen::open() {
  std::setlocale(LC_CTYPE, "");
  ::setenv("ESCDELAY", "25", 0);  // ms; a key of its own otherwise waits a second
  Result<os::UniqueFd> signals = os::catch_signals({SIGINT, SIGTERM, SIGHUP, SIGWINCH});
  if (!signals) return std::unexpected(signals.error());
  SCREEN* terminal = ::newterm(nullptr, stdout, stdin);
  if (!terminal) {
    const char* name = std::getenv("TERM");
    return fail(fmt::format("this terminal ({}) cannot show a table that changes: --once prints one", name ? name : "TERM is not set"));
  }
  ::cbreak();
  ::noecho();
  ::keypad(stdscr, true);
  ::nodelay(stdscr, true);
  ::curs_set(0);
  return std::unique_ptr<Screen>(new Screen(std::move(*signals)));
}

Screen::~Screen() { ::endwin(); }

int Screen::height() const { return LINES; }

void Screen::draw(const std::vector<Line>& lines) {
  for (int y = 0; y < LINES; ++y) {
    ::move(y, 0);
    ::clrtoeol();  // what was too long goes on in the next line
    if (y >= static_cast<int>(lines.size())) continue;
    const Line& line = lines[static_cast<std::size_t>(y)];
    if (line.reversed) ::attron(A_REVERSE);
    ::addstr(line.text.c_str());
    if (line.reversed && getcury(stdscr) == y) ::hline(' ', COLS);
    ::attroff(A_REVERSE);
  }
  ::refresh();
}

Screen::Key Screen::wait(int ms) {
  pollfd look[2] = {{0, POLLIN, 0}, {signals_.get(), POLLIN, 0}};
  if (::poll(look, 2, ms) < 0) return Key::none;
  if (look[1].revents & POLLIN) take_signals();
  if (look[0].revents & (POLLHUP | POLLERR)) signal_ = SIGHUP;  // the terminal is gone
  if (signal_ != 0) return Key::quit;
  if (std::exchange(resized_, false)) return Key::resized;
  switch (::getch()) {
    case ERR:
      return Key::none;
    case 'q':
    case 'Q':
      return Key::quit;
    case 's':
      return Key::sort;
    case KEY_UP:
    case 'k':
      return Key::up;
    case KEY_DOWN:
    case 'j':
      return Key::down;
    case KEY_PPAGE:
      return Key::page_up;
    case KEY_NPAGE:
    case ' ':
      return Key::page_down;
    case KEY_HOME:
      return Key::first;
    case KEY_END:
      return Key::last;
    default:
      return Key::other;
  }
}

void Screen::take_signals() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGWINCH) {
      signal_ = static_cast<int>(info.ssi_signo);
      continue;
    }
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) ::resizeterm(size.ws_row, size.ws_col);
    resized_ = true;
  }
}

}  // namespace hf::daemon
