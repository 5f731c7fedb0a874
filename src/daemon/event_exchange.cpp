// Protocol optimist: agents tell each other which events are stable (docs/optimist.md), over the connections between those who have ranks
// and their holders, which join all of them. What is stable is said by the agent that hosts the rank: what it has told is kept by every later
// holder.
#include "daemon/event_keeper.hpp"
#include "os/clock.hpp"

namespace hf::daemon {
namespace {

constexpr std::int64_t exchange_ns = 1 * os::millisecond_ns;  // at most so often

}  // namespace

void EventKeeper::learn(Rank rank, Term term, std::uint64_t position, const void* from) {
  if (auto at = known_.find(rank); at != known_.end()) {
    const Known& known = at->second;
    if (term < known.term || (term == known.term && position <= known.position)) return;
  }
  if (!owner_.on_known(rank, term, position)) return;
  known_[rank] = {term, position, ++news_, from};
  exchange_soon();
}

void EventKeeper::learn(Bytes payload, const void* from) {
  for (EventsKnown known; read_struct(payload, known);) learn(Rank{known.rank}, Term{known.term}, known.position, from);
}

void EventKeeper::exchange_soon() {
  if (exchange_ != 0) return;
  exchange_ = loop_.at(std::max(os::now(), os::later(exchanged_at_, exchange_ns)), [this] {
    exchange_ = 0;
    exchanged_at_ = os::now();
    exchange();
  });
}

void EventKeeper::exchange() {
  if (visit_.door && visit_.door->open()) tell_known(visit_.door->channel(), visit_.told, visit_.door.get());
  for (const GuestPtr& guest : guests_) {
    if (guest->exchanges && !guest->over) tell_known(*guest->channel, guest->told, guest.get());
  }
}

void EventKeeper::tell_known(ControlChannel& channel, std::uint64_t& told, const void* to) {
  std::vector<EventsKnown> news;
  for (const auto& [rank, known] : known_) {
    // Who is told for the first time is told all: one before it may have had the same address.
    if (known.number > told && (told == 0 || known.from != to)) news.push_back({rank.value, known.term.value, known.position});
  }
  told = news_;
  if (!news.empty()) channel.send_bytes(ControlKind::events_known, std::as_bytes(std::span(news)));
}

// A holder of this connection may have what a hosting before had sent.
void EventKeeper::tell_cuts() {
  for (const auto& [rank, cuts] : cuts_) {
    for (const EventsCut& cut : cuts) visit_.door->channel().send(ControlKind::events_cut, cut);
  }
}

}  // namespace hf::daemon
