// The side of an agent that holds the events of others' ranks.
#include "daemon/event_keeper.hpp"
#include "os/clock.hpp"

namespace hf::daemon {
namespace {

constexpr std::size_t content_bytes_max = 1 << 20;  // a frame

}  // namespace

void EventKeeper::on_guest(int agent, ChannelPtr channel) {
  auto guest = std::make_shared<Guest>();
  guest->agent = agent;
  guest->channel = std::move(channel);
  guest->channel->hold(cut_off_.contains(agent));
  guests_.push_back(guest);
  std::weak_ptr<Guest> weak = guest;
  guest->channel->set_handlers(
      [this, weak](ControlKind kind, Bytes payload) {
        if (auto self = weak.lock()) on_guest_frame(self, kind, payload);
      },
      [this, weak] {
        auto self = weak.lock();
        if (!self) return;
        self->over = true;
        soon([this] { std::erase_if(guests_, [](const GuestPtr& g) { return g->over; }); });
      });
}

void EventKeeper::on_guest_frame(const GuestPtr& guest, ControlKind kind, Bytes payload) {
  if (EventsAppend append; kind == ControlKind::events_append && read_struct(payload, append) && append.rank >= 0) {
    on_append(*guest, append, payload);
    if (optimist_ && !std::exchange(guest->wants_known, true)) exchange_soon();
    if (guest->unanswered.size() > 1) return;  // the answer is on its way already
    std::weak_ptr<Guest> weak = guest;
    soon([this, weak] {
      if (auto self = weak.lock()) answer(*self);
    });
  } else if (EventsName name; kind == ControlKind::events_open && read_struct(payload, name) && name.rank >= 0) {
    on_open(*guest, name);
  } else if (EventsName hosting; kind == ControlKind::events_cuts && optimist_ && read_struct(payload, hosting) && hosting.rank >= 0) {
    on_cuts(hosting, payload);
  } else if (kind == ControlKind::events_known && optimist_) {
    learn(payload, guest.get());
    if (!std::exchange(guest->wants_known, true)) exchange_soon();
  }
}

// What is here goes on as far as no cut since was before it. The first append of that term is refused where this was.
void EventKeeper::on_cuts(const EventsName& hosting, Bytes encoded) {
  const auto cuts = core::vprotocol::Cuts::decode(encoded);
  const Rank rank{hosting.rank};
  const Term term{hosting.term};
  if (!cuts || cuts->newest() < term) return;  // with which that hosting begins
#ifdef HOLDFAST_MUTATE_NEWEST_CUT_ALONE
  return store_.on_cut(rank, term, cuts->kept(Term{term.value - 1}));
#endif
  store_.on_cut(rank, term, cuts->kept(store_.term(rank)));
}

void EventKeeper::on_append(Guest& guest, const EventsAppend& append, Bytes bytes) {
  using Verdict = core::event_logger::Store::Verdict;
  switch (store_.on_append(Rank{append.rank}, Term{append.term}, Generation{append.generation}, append.position,
                           {append.promised, TestClock{append.promised_failed}}, TestClock{append.last_failed}, bytes)) {
    case Verdict::taken: guest.unanswered[Rank{append.rank}] = Term{append.term}; return;
    case Verdict::outdated: return;
    case Verdict::refused: return guest.channel->send(ControlKind::events_refused, EventsName{append.rank, append.term});
    case Verdict::gap:
    case Verdict::full: return guest.channel->send_bytes(ControlKind::events_full);
  }
}

// All that one reading of the connection brought is answered at once: the stable vector of the ranks that it was about, and under
// optimist what is news of all others.
void EventKeeper::answer(Guest& guest) {
  std::vector<EventsStable> vector;
  for (auto [rank, term] : guest.unanswered) {
    vector.push_back({rank.value, term.value, store_.end(rank), store_.last_failed(rank).value});
  }
  guest.unanswered.clear();
  if (vector.empty() || guest.over) return;
  guest.channel->send_bytes(ControlKind::events_stable, std::as_bytes(std::span(vector)));
  if (optimist_) tell_known(*guest.channel, guest.told, &guest);
}

// All that the hosting before had given here, with the messages to this node's ranks too.
core::event_logger::Store::Content EventKeeper::open(Rank rank, Term term) {
  const Term held = store_.term(rank);
  for (const auto& piece : owner_.fence(rank, term, held)) store_.on_carried(rank, held, piece.position, piece.last_failed, piece.bytes);
  return store_.on_open(rank, term);
}

void EventKeeper::on_open(Guest& guest, const EventsName& name) {
  core::event_logger::Store::Content content = open(Rank{name.rank}, Term{name.term});
  if (content.refused) return guest.channel->send(ControlKind::events_refused, name);
  EventsContent head{.rank = name.rank,
                     .term = name.term,
                     .held_term = content.term.value,
                     .known = content.known,
                     .generation = content.generation.value,
                     .promised = content.promised.end,
                     .promised_failed = content.promised.last_failed.value,
                     .last_failed = content.last_failed.value,
                     .total = content.bytes.size()};
  do {
    Bytes piece = content.bytes.subspan(head.offset, std::min<std::size_t>(content_bytes_max, content.bytes.size() - head.offset));
    guest.channel->send(ControlKind::events_content, head, piece);
    head.offset += piece.size();
    owner_.on_busy();
  } while (head.offset < content.bytes.size());
}

}  // namespace hf::daemon
