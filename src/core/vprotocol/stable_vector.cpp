#include "core/vprotocol/stable_vector.hpp"

#include <algorithm>
#include <tuple>

namespace hf::core::vprotocol {

bool StableVector::raise(const Dependency& known) {
  auto [at, is_new] = entries_.try_emplace(known.rank);
  Entry& entry = at->second;
  if (!is_new && std::tuple(known.term, known.position) <= std::tuple(entry.term, entry.position)) return false;
  entry = {known.term, known.position, ++stamp_};
  return true;
}

bool StableVector::covers(const Dependency& event) const {
  auto at = entries_.find(event.rank);
  if (at == entries_.end()) return false;
#ifdef HOLDFAST_MUTATE_STABLE_OF_ANOTHER_TERM
  return at->second.position >= event.position;
#elif defined(HOLDFAST_MUTATE_STABLE_ANYWHERE)
  return at->second.term == event.term;
#else
  return at->second.term == event.term && at->second.position >= event.position;
#endif
}

void StableVector::take_changes(std::uint64_t& stamp, std::vector<Dependency>& out) const {
  out.clear();
  if (!changed_since(stamp)) return;
  std::vector<std::pair<std::uint64_t, Dependency>> changed;
  for (const auto& [rank, entry] : entries_) {
    if (entry.stamp > stamp) changed.push_back({entry.stamp, {rank, entry.term, entry.position}});
  }
  std::ranges::sort(changed, {}, [](const auto& one) { return one.first; });
  for (const auto& [when, entry] : changed) out.push_back(entry);
  stamp = stamp_;
}

}  // namespace hf::core::vprotocol
