#include "sim/job/board.hpp"

#include <algorithm>

namespace hf::sim::job {

std::uint64_t Told::add(Rank rank, const BoardEntry& entry) {
  const std::uint64_t number = ++count_;
  auto& entries = by_rank_[rank];
  if (entries.empty() || !entry.is_older_than(entries.back().second)) entries.push_back({number, entry});
  return number;
}

const BoardEntry* Told::newest(Rank rank, std::uint64_t heard) const {
  auto at = by_rank_.find(rank);
  if (at == by_rank_.end()) return nullptr;
  auto behind = std::ranges::upper_bound(at->second, heard, {}, &std::pair<std::uint64_t, BoardEntry>::first);
  return behind == at->second.begin() ? nullptr : &std::prev(behind)->second;
}

}  // namespace hf::sim::job
