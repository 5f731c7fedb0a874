// The side of an agent whose ranks' events are kept elsewhere.
#include "daemon/event_keeper.hpp"

#include <atomic>

#include "os/clock.hpp"

namespace hf::daemon {
namespace {

constexpr std::uint64_t in_flight_bytes_max = 4 << 20;
constexpr std::int64_t retry_ms = 20;
constexpr std::int64_t patience_ns = 400 * os::millisecond_ns;  // without a holder, before the head is asked for another

}  // namespace

EventKeeper::EventKeeper(os::EventLoop& loop, const JobKey& key, NodeId self, std::uint64_t bytes_max, bool optimist, Owner& owner)
    : loop_(loop),
      key_(key),
      self_(self),
      owner_(owner),
      store_(bytes_max),
      sender_(in_flight_bytes_max),
      optimist_(optimist) {}

EventKeeper::~EventKeeper() {
  loop_.cancel(retry_);
  loop_.cancel(exchange_);
  loop_.cancel(held_back_);
}

void EventKeeper::keep_on_disk(EventFiles::Place place, bool on_nodes_too) {
  on_nodes_ = on_nodes_too;
  files_ = std::make_unique<EventFiles>(loop_, std::move(place),
                                        EventFiles::Handlers{[this](Rank rank) { return owner_.written(rank); },
                                                             [this](Rank rank, std::uint64_t position, MutableBytes out) {
                                                               return owner_.read_events(rank, position, out);
                                                             },
                                                             [this](Rank rank) { on_stable_on_disk(rank); }, [this](Rank rank) { owner_.on_fenced(rank); },
                                                             [this](Rank rank) { owner_.on_damaged(rank); },
                                                             [this](const std::string& why) { owner_.on_disk_failed(why); }});
}

void EventKeeper::on_stable_on_disk(Rank rank) {
  tell(rank);
  look_again(rank);
  pump();
}

// What came while something of the rank was on its way: the rank says that it has written something only when it sees nothing on its way.
// At two levels it is on its way until both have it: each that answers looks for both.
void EventKeeper::look_again(Rank rank) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (on_nodes_) sender_.on_published(rank, owner_.written(rank));
#ifndef HOLDFAST_MUTATE_EACH_LEVEL_LOOKS_FOR_ITSELF
  if (files_) files_->look(rank);
#endif
}

// At both levels, what both have.
EventKeeper::Extent EventKeeper::stable(Rank rank) const {
  if (!files_) return sender_.stable(rank);
  const Extent on_disk = files_->stable(rank);
  return on_nodes_ ? core::event_logger::in_both(sender_.stable(rank), on_disk) : on_disk;
}

void EventKeeper::add_rank(Rank rank, Term term, const Extent& promised) {
  stop_carrying();
  terms_[rank] = term;
  if (on_nodes_) {
    sender_.add(rank, term, promised);
    sender_.on_published(rank, owner_.written(rank));
  }
  if (files_) files_->add_rank(rank, term, promised);
  if (has_holder_ && holder_ < 0) sender_.on_no_holder();
  tell(rank);
  pump();
}

void EventKeeper::roll_back(Rank rank, Term term, std::uint64_t position) {
  terms_[rank] = term;
  if (on_nodes_) {
    sender_.roll_back(rank, term, position);
    sender_.on_published(rank, owner_.written(rank));
  }
  if (files_) files_->roll_back(rank, term, position);
  cuts_[rank].push_back({rank.value, term.value, position});
  if (visit_.door && visit_.door->open()) visit_.door->channel().send(ControlKind::events_cut, cuts_[rank].back());
  tell(rank);
  pump();
}

void EventKeeper::set_holder(int agent, Generation generation, int standby) {
  if (has_holder_ && generation == generation_) {  // only who stands by is another
    drop(standby_);
    if (standby >= 0) standby_ = visit(standby);
    return;
  }
  holder_ = agent;
  generation_ = generation;
  has_holder_ = true;
  told_lost_ = false;
  lost_at_ = os::now();
  loop_.cancel(retry_);
  stop_carrying();
  sender_.on_disconnected();  // what an old connection still brings counts no more
  drop(visit_);
  if (agent >= 0 && standby_.door && standby_.agent == agent) std::swap(visit_, standby_);
  else if (agent >= 0) visit_ = visit(agent);
  drop(standby_);
  if (visit_.door && visit_.door->open()) on_visit_open(visit_.number);
  if (standby >= 0) standby_ = visit(standby);
  if (agent >= 0) return;
  sender_.on_no_holder();
  for (auto [rank, term] : terms_) tell(rank);
}

EventKeeper::Visit EventKeeper::visit(int agent) {
  const std::uint64_t number = ++visits_;
  Visit out{number, agent,
            std::make_unique<ControlVisit>(loop_, key_, self_, Purpose::events, agents_[agent],
                                           ControlVisit::Handlers{[this, number] { on_visit_open(number); },
                                                                  [this, number](ControlKind kind, Bytes payload) {
                                                                    if (number == visit_.number) on_holder_frame(kind, payload);
                                                                  },
                                                                  [this, number] { on_visit_closed(number); }})};
  out.door->hold(cut_off_.contains(agent));
  return out;
}

void EventKeeper::cut_off(std::set<int> agents) {
  cut_off_ = std::move(agents);
  for (Visit* visit : {&visit_, &standby_}) {
    if (visit->door) visit->door->hold(cut_off_.contains(visit->agent));
  }
  for (const GuestPtr& guest : guests_) guest->channel->hold(cut_off_.contains(guest->agent));
  auto fetch = fetch_;
  if (!fetch) return;
  for (auto& [agent, visit] : fetch->visits) visit->hold(cut_off_.contains(agent));
}

void EventKeeper::hold_back(std::int64_t for_ns) {
  loop_.cancel(held_back_);
  if (files_) files_->hold_back(true);
  held_back_ = loop_.at(os::later(os::now(), for_ns), [this] {
    held_back_ = 0;
    if (files_) files_->hold_back(false);
    pump();
  });
}

void EventKeeper::drop(Visit& visit) {
  if (visit.door) old_visits_.push_back(std::move(visit.door));
  visit = {};
  if (!old_visits_.empty()) loop_.at(os::now(), [this] { old_visits_.clear(); });
}

void EventKeeper::on_visit_open(std::uint64_t number) {
  if (number != visit_.number) return;  // the one that stands by
  sender_.on_connected(generation_);
  tell_cuts();
  pump();
  if (!optimist_) return;
  visit_.door->channel().send_bytes(ControlKind::events_known);  // from now on what is stable goes both ways
  exchange_soon();
}

void EventKeeper::on_visit_closed(std::uint64_t number) {
  if (number == visit_.number) on_holder_closed("its connection is lost");
  if (number == standby_.number) drop(standby_);
}

void EventKeeper::on_holder_closed(const std::string& why) {
  if (lost_at_.value == 0) lost_at_ = os::now();
  stop_carrying();
  sender_.on_disconnected();
  drop(visit_);
  if (os::now().value - lost_at_.value > patience_ns && !std::exchange(told_lost_, true)) owner_.on_holder_lost(generation_, why);
  loop_.cancel(retry_);
  retry_ = loop_.at(os::later(os::now(), retry_ms * os::millisecond_ns), [this] {
    retry_ = 0;
    if (holder_ >= 0) visit_ = visit(holder_);
  });
}

void EventKeeper::on_holder_frame(ControlKind kind, Bytes payload) {
  if (kind == ControlKind::events_stable) {
    lost_at_ = {};
    for (EventsStable stable; read_struct(payload, stable);) {
      Rank rank{stable.rank};
      if (!sender_.on_stable(rank, Term{stable.term}, {stable.end, TestClock{stable.last_failed}})) {
        return on_holder_closed("it answers what was not asked");
      }
      tell(rank);
      // Events that go with the rank's messages need not be stable, and are fetched when it says so.
      if (!carriable_ || look_again_.erase(rank) != 0) look_again(rank);
    }
    pump();
    if (Generation held; sender_.poll_held(held)) {
      owner_.on_held(held);
      if (optimist_ || files_) return;  // what goes with a message is in no file
      carriable_ = true;
      owner_.on_carriable(holder_);
    }
  } else if (kind == ControlKind::events_refused) {
    if (EventsName name; read_struct(payload, name) && is_fenced_by(name)) owner_.on_fenced(Rank{name.rank});
  } else if (kind == ControlKind::events_known && optimist_) {
    learn(payload, visit_.door.get());
  } else if (kind == ControlKind::events_full) {
    if (!std::exchange(told_lost_, true)) owner_.on_holder_lost(generation_, "its memory for events is full");
  } else {
    on_holder_closed("it speaks another protocol");
  }
}

// Not what was under way of a hosting that was rolled back.
bool EventKeeper::is_fenced_by(const EventsName& refused) const {
  auto at = terms_.find(Rank{refused.rank});
  return at != terms_.end() && refused.term == at->second.value;
}

// The present holder may not be the next: that one must have what ranks have given to this one's. A rank stores how far that goes before
// it looks whether it still may, so that either it sees that it may not, or we see what it gave.
void EventKeeper::stop_carrying() {
  if (!std::exchange(carriable_, false)) return;
  owner_.on_carriable(-1);
  for (auto [rank, term] : terms_) {
    sender_.on_published(rank, owner_.written(rank));
    sender_.on_carried(rank, owner_.carried(rank));
  }
}

void EventKeeper::tell(Rank rank) {
  const Extent extent = stable(rank);
  owner_.on_stable(rank, extent);
  if (optimist_) learn(rank, terms_.at(rank), extent.end, nullptr);
}

void EventKeeper::look(Rank rank) {
  if (!terms_.contains(rank)) return;
  if (on_nodes_) sender_.on_published(rank, owner_.written(rank));
  if (files_) files_->look(rank);
  if (carriable_) look_again_.insert(rank);
  if (has_holder_ && holder_ < 0) return tell(rank);
  pump();
}

void EventKeeper::pump() {
  if (!visit_.door || !visit_.door->open() || held_back_ != 0) return;
  for (core::event_logger::Sender::Append append; sender_.poll_append(append);) {
    scratch_.resize(append.end - append.position);
    if (!owner_.read_events(append.rank, append.position, scratch_)) return owner_.on_damaged(append.rank);
    EventsAppend head{append.rank.value, append.term.value, append.position, append.promised, append.last_failed.value};
    visit_.door->channel().send(ControlKind::events_append, head, scratch_);
  }
}

}  // namespace hf::daemon
