// Passes the output of one rank's stream on line by line and exactly once over its incarnations (design section 6.5).
// Pure: bytes in, bytes to pass on out.
//
// The position passed on is (lines, bytes of the open line). A new incarnation's output is skipped up to it, and each
// skipped line is compared by its hash.
#pragma once
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/line_hashes.hpp"

namespace hf::daemon {

class OutputGate {
 public:
  static constexpr std::size_t open_bytes_max = 64 * 1024;  // an unfinished line is passed on beyond this

  OutputGate() { XXH3_64bits_reset(&line_); }
  void on_bytes(std::string_view in, std::string& pass_on);
  void pass_open_line(std::string& pass_on);  // an unfinished line has waited long enough, or the stream has ended
  bool has_open_line() const { return !open_.empty(); }
  void on_restart();  // what follows is written by a new incarnation; what waits of the old one is dropped
  // The stream has ended: passes on what waits. What an earlier incarnation has written beyond it is a difference, if the rank is `done`: one that was
  // ended in the middle of its replay would have written that yet.
  void on_end(bool done, std::string& pass_on);
  // How far output has been passed on; `open_bytes` are of the line after those.
  struct Position {
    std::uint64_t lines = 0, open_bytes = 0;
    friend auto operator<=>(const Position&, const Position&) = default;
  };
  Position passed() const { return {passed_lines_, passed_open_}; }
  // A new gate goes on for one that is gone with its process: so much had been passed on, and what follows is written from there on by the
  // present incarnation. What the lost gate had passed on is not compared any more. False: what lies between the two is lost.
  bool resume(Position passed, Position next);
  // Number, from 1, of the first line that differs from what was passed on before; once over all incarnations.
  std::optional<std::uint64_t> take_difference();
  // What this incarnation has written in place of lines that had been passed on, from the first that differs, as far as there is room. Why it has ended, perhaps.
  static constexpr std::size_t instead_max = 4096;
  std::string take_instead();

 private:
  std::string_view skip(std::string_view segment, bool ends, std::string& pass_on);
  void end_line();
  void remember_line();
  void differs();
  void add_instead();

  std::uint64_t passed_lines_ = 0;
  std::uint64_t passed_open_ = 0;       // bytes of the open line passed on
  std::uint64_t passed_open_hash_ = 0;  // of those
  LineHashes hashes_;                   // of the lines passed on from number unchecked_ on
  std::uint64_t unchecked_ = 0;         // lines before it were passed on by a gate that is gone
  bool open_unchecked_ = false;         // passed_open_hash_ is not known

  std::uint64_t lines_ = 0;       // of this incarnation
  std::uint64_t line_bytes_ = 0;  // of its open line
  XXH3_state_t line_;             // over those
  bool line_unknown_ = false;     // but for its beginning, which is not known
  LineHashes::Replay replay_;
  std::string open_;  // seen, not passed on: the last line_bytes_ - passed_open_ bytes
  std::string skipped_;  // of the open line, with instead_max at most
  std::string instead_;
  std::optional<std::uint64_t> difference_;
  bool difference_seen_ = false;
};

}  // namespace hf::daemon
