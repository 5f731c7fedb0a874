#include "daemon/output_gate.hpp"

#include <utility>

namespace hf::daemon {

void OutputGate::differs() {
  if (!std::exchange(difference_seen_, true)) difference_ = lines_ + 1;
}

std::optional<std::uint64_t> OutputGate::take_difference() {
  return std::exchange(difference_, std::nullopt);
}

void OutputGate::end_line() {
  ++lines_;
  skipped_.clear();
  line_bytes_ = 0;
  line_unknown_ = false;
  XXH3_64bits_reset(&line_);
}

bool OutputGate::resume(Position passed, Position next) {
  const bool whole = next <= passed;
  if (!whole) passed = next;
  passed_lines_ = unchecked_ = passed.lines;
  passed_open_ = passed.open_bytes;
  open_unchecked_ = passed.open_bytes > 0;
  on_restart();
  lines_ = next.lines;
  line_bytes_ = next.open_bytes;
  line_unknown_ = next.open_bytes > 0;
  return whole;
}

void OutputGate::add_instead() {
  if (instead_.size() + skipped_.size() > instead_max) return;
  instead_ += skipped_;
  if (!instead_.ends_with('\n')) instead_ += '\n';
}

std::string OutputGate::take_instead() { return std::exchange(instead_, {}); }

// A line has been passed on to its end.
void OutputGate::remember_line() {
  ++passed_lines_;
  passed_open_ = 0;
  open_unchecked_ = false;
  if (!line_unknown_) return hashes_.append(XXH3_64bits_digest(&line_));
  hashes_ = LineHashes();
  replay_ = {};
  unchecked_ = passed_lines_;
}

// `segment` begins before the position passed on. Takes what is to be skipped of it, and returns the rest.
std::string_view OutputGate::skip(std::string_view segment, bool ends, std::string& pass_on) {
  if (lines_ < passed_lines_) {
    XXH3_64bits_update(&line_, segment.data(), segment.size());
    line_bytes_ += segment.size();
    skipped_ += segment.substr(0, instead_max - std::min(skipped_.size(), instead_max));
    if (ends) {
      const bool same = lines_ < unchecked_ || replay_.check(hashes_, XXH3_64bits_digest(&line_));
      if (!same) differs();
      if (!same || !instead_.empty()) add_instead();
      end_line();
    }
    return {};
  }
  std::size_t n = std::min<std::size_t>(segment.size(), passed_open_ - line_bytes_);
  XXH3_64bits_update(&line_, segment.data(), n);
  line_bytes_ += n;
  if (ends && n == segment.size()) {  // the line was longer before: what was passed on of it is ended here
    differs();
    pass_on += '\n';
    remember_line();
    end_line();
  } else if (line_bytes_ == passed_open_ && !open_unchecked_ && !line_unknown_ && XXH3_64bits_digest(&line_) != passed_open_hash_) {
    differs();
  }
  return segment.substr(n);
}

void OutputGate::on_bytes(std::string_view in, std::string& pass_on) {
  while (!in.empty()) {
    std::size_t newline = in.find('\n');
    bool ends = newline != std::string_view::npos;
    std::string_view segment = in.substr(0, ends ? newline + 1 : in.size());
    in.remove_prefix(segment.size());
    if (lines_ < passed_lines_ || line_bytes_ < passed_open_) segment = skip(segment, ends, pass_on);
    if (segment.empty()) continue;
    XXH3_64bits_update(&line_, segment.data(), segment.size());
    line_bytes_ += segment.size();
    if (ends) {
      pass_on += open_;
      pass_on += segment;
      open_.clear();
      remember_line();
      end_line();
    } else {
      open_ += segment;
      if (open_.size() >= open_bytes_max) pass_open_line(pass_on);
    }
  }
}

void OutputGate::pass_open_line(std::string& pass_on) {
  if (open_.empty()) return;
  pass_on += open_;
  open_.clear();
  passed_open_ = line_bytes_;
  passed_open_hash_ = XXH3_64bits_digest(&line_);
  open_unchecked_ = line_unknown_;
}

void OutputGate::on_restart() {
  open_.clear();
  skipped_.clear();
  instead_.clear();
  lines_ = 0;
  line_bytes_ = 0;
  line_unknown_ = false;
  XXH3_64bits_reset(&line_);
  replay_ = {};
}

void OutputGate::on_end(bool done, std::string& pass_on) {
  pass_open_line(pass_on);
  if (!done) return;
  if (lines_ < passed_lines_ || line_bytes_ < passed_open_) differs();
}

}  // namespace hf::daemon
