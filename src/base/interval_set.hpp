// A set of numbers that mostly come in runs, kept as intervals.
#pragma once
#include <cstdint>
#include <iterator>
#include <map>

namespace hf {

class IntervalSet {
 public:
  bool contains(std::uint64_t n) const {
    auto behind = first_to_last_.upper_bound(n);
    return behind != first_to_last_.begin() && n <= std::prev(behind)->second;
  }

  void insert(std::uint64_t n) {
    if (contains(n)) return;
    auto behind = first_to_last_.upper_bound(n);
    std::uint64_t last = n;
    if (behind != first_to_last_.end() && behind->first - 1 == n) {  // n joins the interval behind it
      last = behind->second;
      behind = first_to_last_.erase(behind);
    }
    if (behind != first_to_last_.begin() && std::prev(behind)->second + 1 == n) {
      std::prev(behind)->second = last;
    } else {
      first_to_last_.emplace_hint(behind, n, last);
    }
  }

  std::size_t intervals() const { return first_to_last_.size(); }

 private:
  std::map<std::uint64_t, std::uint64_t> first_to_last_;
};

}  // namespace hf
