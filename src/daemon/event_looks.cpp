// When an agent looks at what its ranks have written. A rank says that it has written something only when it sees nothing on its way.
// Protocol optimist: whoever determines something determines more soon, and no message waits for it: from then on the agent looks by itself once a
// millisecond, until it has found nothing for some time, and the rank says nothing. What is known to be stable is told to others at the same time.
#include <atomic>

#include "daemon/event_keeper.hpp"
#include "os/clock.hpp"

namespace hf::daemon {
namespace {

constexpr std::int64_t look_ns = 1 * os::millisecond_ns;
constexpr int looks_in_vain_max = 8;

}  // namespace

void EventKeeper::see_written(Rank rank) {
  if (on_nodes_) copies_.on_published(rank, owner_.written(rank));
  if (files_) files_->look(rank);
}

// What came while something of the rank was on its way. At two levels it is on its way until both have it: each that answers looks for both.
void EventKeeper::look_again(Rank rank) {
  if (looked_at_.contains(rank)) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (on_nodes_) copies_.on_published(rank, owner_.written(rank));
#ifndef HOLDFAST_MUTATE_EACH_LEVEL_LOOKS_FOR_ITSELF
  if (files_) files_->look(rank);
#endif
}

void EventKeeper::look(Rank rank) {
  if (!terms_.contains(rank)) return;
  if (optimist_) look_unasked(rank);  // first: what is written from now on is news
  see_written(rank);
  if (carriable_) look_again_.insert(rank);
  if (alone()) return tell(rank);
  pump();
}

void EventKeeper::look_unasked(Rank rank) {
  if (looked_at_.emplace(rank, Looks{owner_.written(rank)}).second) owner_.on_looked_at(rank, true);
  if (next_look_ == 0) next_look_ = loop_.at(os::later(os::now(), look_ns), [this] { look_at_all(); });
}

void EventKeeper::look_at_all() {
  next_look_ = 0;
  for (auto at = looked_at_.begin(); at != looked_at_.end();) at = looks_enough(at->first, at->second) ? looked_at_.erase(at) : std::next(at);
  pump();
  exchange();
  if (!looked_at_.empty()) next_look_ = loop_.at(os::later(os::now(), look_ns), [this] { look_at_all(); });
}

// True: the rank says again what it writes. Either it sees that it has to, or we see what it has written.
bool EventKeeper::looks_enough(Rank rank, Looks& looks) {
  if (find_news(rank, looks) || ++looks.in_vain < looks_in_vain_max) return false;
  owner_.on_looked_at(rank, false);
#ifndef HOLDFAST_MUTATE_LOOKS_ENOUGH_AT_ONCE
  if (find_news(rank, looks)) return owner_.on_looked_at(rank, true), false;
#endif
  return true;
}

bool EventKeeper::find_news(Rank rank, Looks& looks) {
  const Extent now = owner_.written(rank);
  if (now == looks.seen) return false;
  looks = {now};
  see_written(rank);
  if (alone()) tell(rank);
  return true;
}

}  // namespace hf::daemon
