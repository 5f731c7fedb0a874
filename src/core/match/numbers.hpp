// Which messages of one source have arrived in one context: exactly once, in order or by number (design rule 2).
// Compact: a number below which all have arrived, and the exceptions above it. Pure.
#pragma once
#include <cstdint>
#include <set>

#include "base/ids.hpp"

namespace hf::core::match {

class Arrivals {
 public:
  enum class Verdict { take, duplicate, early };
  // In a tag-matched context messages of one source are taken in order: `early` must be kept and offered again later.
  Verdict in_order(Sequence number) {
    if (is_old(number)) return Verdict::duplicate;
    if (number.value > below_) return Verdict::early;
    ++below_;
    return Verdict::take;
  }
  // In a numbered context each is taken by its number, in any order.
  Verdict by_number(Sequence number) {
    if (is_old(number)) return Verdict::duplicate;
    if (number.value > below_) return above_.insert(number.value).second ? Verdict::take : Verdict::duplicate;
    ++below_;
    while (!above_.empty() && *above_.begin() == below_) {
      above_.erase(above_.begin());
      ++below_;
    }
    return Verdict::take;
  }
  // One that had arrived was taken away before anybody saw it (docs/optimist.md, Cuts): it will come again.
  void forget(Sequence number) {
#ifndef HOLDFAST_MUTATE_COUNT_STAYS
    above_.erase(number.value);
    if (number.value >= below_) return;
    for (std::uint64_t other = number.value + 1; other < below_; ++other) above_.insert(other);
    below_ = number.value;
#endif
  }
  // Whether this is the one that either would take next, with no other before it.
  bool is_next(Sequence number) const { return !is_old(number) && number.value == below_; }
  std::uint64_t below() const { return below_; }
  bool has(Sequence number) const { return is_old(number) || above_.contains(number.value); }

 private:
  // The two mutations stand for the two ways to be wrong; tests must see each.
  bool is_old(Sequence number) const {
#if defined(HOLDFAST_MUTATE_DROP_TOO_MUCH)
    return below_ > 0 && number.value <= below_;
#elif defined(HOLDFAST_MUTATE_DROP_TOO_LITTLE)
    return number.value + 1 < below_;
#else
    return number.value < below_;
#endif
  }
  std::uint64_t below_ = 0;         // all numbers under it have arrived
  std::set<std::uint64_t> above_;   // arrived numbers over it
};

}  // namespace hf::core::match
