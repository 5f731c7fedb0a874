// Protocol optimist: agents tell each other which events are stable (docs/optimist.md), over the connections between agents and
// their holders, which join all of them (docs/event-loggers.md). What is stable is said by the agent that hosts the rank: what it has
// told is kept by every later holder.
#include "daemon/event_keeper.hpp"
#include "os/clock.hpp"

namespace hf::daemon {
namespace {

constexpr std::int64_t exchange_ns = 1 * os::millisecond_ns;  // at most so often

}  // namespace

void EventKeeper::learn(Rank rank, Term term, std::uint64_t position, const void* from) {
  if (!owner_.on_known(rank, term, position) || !known_.raise({rank, term, position})) return;
  known_from_[rank] = from;
  has_news_ = true;
  exchange_soon();
}

void EventKeeper::learn(Bytes payload, const void* from) {
  for (EventsKnown known; read_struct(payload, known);) learn(Rank{known.rank}, Term{known.term}, known.position, from);
  pass_news();
}

void EventKeeper::pass_news() {
  if (std::exchange(has_news_, false)) owner_.on_news();
}

// Who has no ranks appends nothing by which the holder would know that it is to be told.
void EventKeeper::ask_for_known(Visit& visit) {
  visit.door->channel().send_bytes(ControlKind::events_known);
  exchange_soon();
}

void EventKeeper::exchange_soon() {
  if (exchange_ != 0 || next_look_ != 0) return;  // the next look exchanges too
  exchange_ = loop_.at(std::max(os::now(), os::later(exchanged_at_, exchange_ns)), [this] {
    exchange_ = 0;
    exchange();
  });
}

void EventKeeper::exchange() {
  exchanged_at_ = os::now();
  auto tell = [this](Visit& visit) {
    if (visit.door && visit.door->open()) tell_known(visit.door->channel(), visit.told, visit.door.get());
  };
  for (Copy& copy : kept_) tell(copy.visit);
  if (alone()) tell(standby_);  // everybody's memory is full
  for (const GuestPtr& guest : guests_) {
    if (guest->wants_known && !guest->over) tell_known(*guest->channel, guest->told, guest.get());
  }
}

void EventKeeper::tell_known(ControlChannel& channel, std::uint64_t& told, const void* to) {
  const bool first = told == 0;
  known_.take_changes(told, changes_);
  std::vector<EventsKnown> news;
  for (const auto& known : changes_) {
    // Who is told for the first time is told all: one before it may have had the same address.
    if (first || known_from_.at(known.rank) != to) news.push_back({known.rank.value, known.term.value, known.position});
  }
  if (!news.empty()) channel.send_bytes(ControlKind::events_known, std::as_bytes(std::span(news)));
}

// A holder may have what any hosting before had sent. All cuts at once: it takes no older one behind the newest.
void EventKeeper::tell_cuts(Copy& copy, Rank rank) {
  const Term term = terms_.at(rank);
  if (!optimist_ || !on_nodes_ || !copy.open() || term == Term{}) return;
  std::vector<std::byte> encoded;
  owner_.cuts(rank).encode(encoded);
  copy.visit.door->channel().send(ControlKind::events_cuts, EventsName{rank.value, term.value}, encoded);
}

}  // namespace hf::daemon
