// Hashes of the lines of one output stream, in bounded memory: past `entries_max` entries each stands for twice as many
// lines, so that a difference is placed less exactly but still seen. Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hf::daemon {

class LineHashes {
 public:
  explicit LineHashes(std::size_t entries_max = std::size_t{1} << 20) : entries_max_(entries_max) {}
  void append(std::uint64_t hash);  // of the next line

  // Goes through the lines again from the first. check() may be called at most as often as append() was, and no
  // append() may come between the first and the last.
  class Replay {
   public:
    bool check(const LineHashes& lines, std::uint64_t hash);  // false: this line, or one shortly before it, differs

   private:
    std::uint64_t line_ = 0;
    std::vector<std::uint64_t> group_;
  };

 private:
  static std::uint64_t fold(const std::vector<std::uint64_t>& hashes);
  std::size_t entries_max_;
  std::size_t lines_per_entry_ = 1;     // a power of two
  std::vector<std::uint64_t> entries_;  // of complete groups of lines_per_entry_ lines
  std::vector<std::uint64_t> open_;     // of the lines of the group not yet complete
};

}  // namespace hf::daemon
