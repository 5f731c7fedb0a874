#include "daemon/line_hashes.hpp"

#include <utility>

namespace hf::daemon {
namespace {

std::uint64_t combine(std::uint64_t left, std::uint64_t right) {
  std::uint64_t x = left * 0x9e3779b97f4a7c15u ^ (right + (left >> 29));
  x ^= x >> 32;
  return x * 0xd6e8feb86659fd93u;
}

}  // namespace

// As a binary tree, so that a group's hash is made of its halves' hashes.
std::uint64_t LineHashes::fold(const std::vector<std::uint64_t>& hashes) {
  std::vector<std::uint64_t> level = hashes;
  while (level.size() > 1) {
    for (std::size_t i = 0; i < level.size() / 2; ++i) level[i] = combine(level[2 * i], level[2 * i + 1]);
    level.resize(level.size() / 2);
  }
  return level[0];
}

void LineHashes::append(std::uint64_t hash) {
  open_.push_back(hash);
  if (open_.size() < lines_per_entry_) return;
  entries_.push_back(fold(open_));
  open_.clear();
  if (entries_.size() < entries_max_ || entries_.size() % 2 != 0) return;
  for (std::size_t i = 0; i < entries_.size() / 2; ++i) entries_[i] = combine(entries_[2 * i], entries_[2 * i + 1]);
  entries_.resize(entries_.size() / 2);
  lines_per_entry_ *= 2;
}

bool LineHashes::Replay::check(const LineHashes& lines, std::uint64_t hash) {
  std::uint64_t entry = line_ / lines.lines_per_entry_, within = line_ % lines.lines_per_entry_;
  ++line_;
  if (entry >= lines.entries_.size()) return within < lines.open_.size() && lines.open_[within] == hash;
  group_.push_back(hash);
  if (group_.size() < lines.lines_per_entry_) return true;
  bool same = fold(group_) == lines.entries_[entry];
  group_.clear();
  return same;
}

}  // namespace hf::daemon
