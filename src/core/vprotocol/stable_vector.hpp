// How far the events of each rank are known to be where they survive what the level promises (docs/optimist.md, Who knows what is stable).
// Agents tell each other what has changed; ranks look at it. Pure.
#pragma once
#include <cstdint>
#include <vector>

#include "core/vprotocol/dependencies.hpp"

namespace hf::core::vprotocol {

// Whether it is stable when all events are up to `known`. An entry of another term says nothing.
bool covers(const Dependency& known, const Dependency& event);

// As a rank asks for it.
class Stable {
 public:
  virtual bool covers(const Dependency& event) const = 0;

 protected:
  ~Stable() = default;
};

class StableVector final : public Stable {
 public:
  // All events of that rank up to there, under that term. A newer term takes an older one's place. True: it changed.
  bool raise(const Dependency& known);
  bool covers(const Dependency& event) const override;

  // What changed behind `stamp`, in the order of the changes. `stamp` is the listener's, at first 0, and is what it knows afterwards.
  void take_changes(std::uint64_t& stamp, std::vector<Dependency>& out) const;
  std::uint64_t stamp() const { return stamp_; }

 private:
  static constexpr std::int32_t none = -1;
  struct Known {
    std::uint64_t position = 0, stamp = 0;  // stamp 0: nothing is known
    Term term{};
    std::int32_t before = none, behind = none;  // ranks, in the order in which they changed last
  };
  Known& of(std::int32_t rank) { return known_[static_cast<std::size_t>(rank)]; }
  const Known& of(std::int32_t rank) const { return known_[static_cast<std::size_t>(rank)]; }
  void make_newest(std::int32_t rank);
  std::vector<Known> known_;  // by rank
  std::int32_t oldest_ = none, newest_ = none;
  std::uint64_t stamp_ = 0;
};

}  // namespace hf::core::vprotocol
