#include "core/vprotocol/optimist.hpp"

#include <algorithm>

namespace hf::core::vprotocol {

void Optimist::begin(Term term, Bytes stream) {
  term_ = term;
  const std::size_t whole = whole_events(stream);
  std::uint64_t last = 0;
  std::vector<Dependency> recorded;
  EventHead head;
  for (std::size_t at = 0; at < whole; at += encoded_bytes(head)) {
    std::memcpy(&head, stream.data() + at, sizeof(head));
    if (head.kind != EventKind::dependency) {
      last = at + encoded_bytes(head);
      continue;
    }
    recorded.push_back(dependency_of(head));
    is_orphan_ |= cuts_.verdict(recorded.back()) == Cuts::Verdict::lost;
  }
  vector_.merge(recorded, cuts_);
  if (last > 0) vector_.on_event(term, last);
}

bool Optimist::on_seen(IncomingDependencies& from, std::uint64_t n, Pessimist& events) {
  if (!from.has_for(n)) return !is_orphan_;
#ifdef HOLDFAST_MUTATE_NO_MERGE_IN_REPLAY
  if (events.replaying()) return from.merge_up_to(n), true;
#endif
  unstable_.clear();
  for (const Dependency& d : from.merge_up_to(n)) {
    is_orphan_ |= cuts_.verdict(d) == Cuts::Verdict::lost;
    if (!stable_.covers(cuts_.renewed(d))) unstable_.push_back(d);
  }
  for (const Dependency& larger : vector_.merge(unstable_, cuts_)) events.append_dependency(larger);
  return !is_orphan_;
}

}  // namespace hf::core::vprotocol
