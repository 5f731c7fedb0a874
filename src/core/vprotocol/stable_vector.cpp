#include "core/vprotocol/stable_vector.hpp"

#include <iterator>
#include <tuple>

namespace hf::core::vprotocol {

bool StableVector::raise(const Dependency& known) {
  auto [at, is_new] = last_.try_emplace(known.rank);
  if (is_new) {
    at->second = changes_.insert(changes_.end(), Change{known});
  } else {
    const Dependency& last = at->second->to;
    if (std::tuple(known.term, known.position) <= std::tuple(last.term, last.position)) return false;
    changes_.splice(changes_.end(), changes_, at->second);
  }
  *at->second = {known, ++stamp_};
  return true;
}

bool StableVector::covers(const Dependency& event) const {
  auto at = last_.find(event.rank);
  if (at == last_.end()) return false;
  const Dependency& known = at->second->to;
#ifdef HOLDFAST_MUTATE_STABLE_OF_ANOTHER_TERM
  return known.position >= event.position;
#elif defined(HOLDFAST_MUTATE_STABLE_ANYWHERE)
  return known.term == event.term;
#else
  return known.term == event.term && known.position >= event.position;
#endif
}

void StableVector::take_changes(std::uint64_t& stamp, std::vector<Dependency>& out) const {
  out.clear();
  if (!changed_since(stamp)) return;
  auto first = changes_.end();
  while (first != changes_.begin() && std::prev(first)->stamp > stamp) --first;
  for (; first != changes_.end(); ++first) out.push_back(first->to);
  stamp = stamp_;
}

}  // namespace hf::core::vprotocol
