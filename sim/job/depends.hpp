// By rank, the last of its events that a state depends on. There are many states, most of them nearly what another one is: blocks of ranks
// are shared until they differ.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.hpp"

namespace hf::sim::job {

using EventId = std::uint32_t;  // 0: none

class Depends {
 public:
  explicit Depends(std::size_t ranks) : blocks_((ranks + block_ranks - 1) / block_ranks) {}

  EventId of(Rank rank) const {
    const auto& block = blocks_[block_of(rank)];
    return block ? (*block)[place_of(rank)] : 0;
  }
  void set(Rank rank, EventId id) { own(blocks_[block_of(rank)])[place_of(rank)] = id; }
  // Each of the other's that is `later(mine, other)`; whatever there is is later than none.
  template <class Later>
  void merge(const Depends& other, Later later) {
    for (std::size_t i = 0; i < other.blocks_.size(); ++i) {
      const auto &from = other.blocks_[i];
      auto& to = blocks_[i];
      if (!from || from == to) continue;
      if (!to) to = from;
      else merge(to, from, later);
    }
  }
  template <class Condition>
  bool any_of(Condition condition) const {
    return std::ranges::any_of(blocks_, [&](const BlockPtr& block) { return block && std::ranges::any_of(*block, condition); });
  }
  template <class Visit>
  void each(Visit visit) const {
    for (const BlockPtr& block : blocks_) {
      if (block) std::ranges::for_each(*block, visit);
    }
  }
  // True: nothing has changed in one of them since it was a copy of the other, or as good as that.
  bool shares_all_with(const Depends& other) const { return blocks_ == other.blocks_; }

 private:
  static constexpr std::size_t block_ranks = 64;
  using Block = std::array<EventId, block_ranks>;
  using BlockPtr = std::shared_ptr<Block>;  // changed only by its one owner
  static std::size_t block_of(Rank rank) { return static_cast<std::size_t>(rank.value) / block_ranks; }
  static std::size_t place_of(Rank rank) { return static_cast<std::size_t>(rank.value) % block_ranks; }
  static Block& own(BlockPtr& block) {
    if (!block) block = std::make_shared<Block>();
    else if (block.use_count() > 1) block = std::make_shared<Block>(*block);
    return *block;
  }
  template <class Later>
  static void merge(BlockPtr& to, const BlockPtr& from, Later& later) {
    Block merged = *to;
    for (std::size_t i = 0; i < block_ranks; ++i) {
      if (merged[i] != (*from)[i] && later(merged[i], (*from)[i])) merged[i] = (*from)[i];
    }
    if (merged == *to) return;
    if (merged == *from) to = from;
    else own(to) = merged;
  }
  std::vector<BlockPtr> blocks_;
};

}  // namespace hf::sim::job
