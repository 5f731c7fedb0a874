#include "core/vprotocol/stable_vector.hpp"

#include <algorithm>
#include <tuple>

namespace hf::core::vprotocol {

bool covers(const Dependency& known, const Dependency& event) {
#ifdef HOLDFAST_MUTATE_STABLE_OF_ANOTHER_TERM
  return known.position >= event.position;
#elif defined(HOLDFAST_MUTATE_STABLE_ANYWHERE)
  return known.term == event.term;
#else
  return known.term == event.term && known.position >= event.position;
#endif
}

bool StableVector::raise(const Dependency& known) {
  const std::int32_t rank = known.rank.value;
  if (static_cast<std::size_t>(rank) >= known_.size()) known_.resize(static_cast<std::size_t>(rank) + 1);
  Known& last = of(rank);
  if (last.stamp != 0 && std::tuple(known.term, known.position) <= std::tuple(last.term, last.position)) return false;
  make_newest(rank);
  last.term = known.term;
  last.position = known.position;
  last.stamp = ++stamp_;
  return true;
}

void StableVector::make_newest(std::int32_t rank) {
  if (newest_ == rank) return;
  Known& last = of(rank);
  if (last.stamp != 0) {  // it stands somewhere else
    (last.before == none ? oldest_ : of(last.before).behind) = last.behind;
    of(last.behind).before = last.before;
  }
  last.before = newest_;
  last.behind = none;
  (newest_ == none ? oldest_ : of(newest_).behind) = rank;
  newest_ = rank;
}

bool StableVector::covers(const Dependency& event) const {
  const auto rank = static_cast<std::size_t>(event.rank.value);
  if (rank >= known_.size() || known_[rank].stamp == 0) return false;
  return vprotocol::covers({event.rank, known_[rank].term, known_[rank].position}, event);
}

void StableVector::take_changes(std::uint64_t& stamp, std::vector<Dependency>& out) const {
  out.clear();
  for (std::int32_t rank = newest_; rank != none && of(rank).stamp > stamp; rank = of(rank).before) {
    out.push_back({Rank(rank), of(rank).term, of(rank).position});
  }
  std::ranges::reverse(out);
  stamp = stamp_;
}

}  // namespace hf::core::vprotocol
