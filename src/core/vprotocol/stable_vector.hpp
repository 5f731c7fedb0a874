// How far the events of each rank are known to be where they survive what the level promises (docs/optimist.md, Who knows what is stable).
// Agents tell each other what has changed; ranks look at it. Pure.
#pragma once
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "core/vprotocol/dependencies.hpp"

namespace hf::core::vprotocol {

class StableVector {
 public:
  StableVector() = default;
  StableVector(StableVector&&) = default;  // not copied: last_ points into changes_
  StableVector& operator=(StableVector&&) = default;

  // All events of that rank up to there, under that term. A newer term takes an older one's place. True: it changed.
  bool raise(const Dependency& known);
  // An entry of another term says nothing.
  bool covers(const Dependency& event) const;

  // What changed behind `stamp`, in the order of the changes. `stamp` is the listener's, at first 0, and is what it knows afterwards.
  void take_changes(std::uint64_t& stamp, std::vector<Dependency>& out) const;
  bool changed_since(std::uint64_t stamp) const { return stamp_ > stamp; }

 private:
  struct Change {
    Dependency to;
    std::uint64_t stamp = 0;
  };
  std::list<Change> changes_;  // the last of each rank, oldest first
  std::unordered_map<Rank, std::list<Change>::iterator> last_;
  std::uint64_t stamp_ = 0;
};

}  // namespace hf::core::vprotocol
