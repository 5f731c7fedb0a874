// The side of an agent whose ranks' events are kept elsewhere.
#include "daemon/event_keeper.hpp"

#include <algorithm>
#include <atomic>

#include "os/clock.hpp"

namespace hf::daemon {
namespace {

constexpr std::uint64_t in_flight_bytes_max = 4 << 20;
constexpr std::int64_t retry_ms = 20;
constexpr std::int64_t patience_ns = 400 * os::millisecond_ns;  // without a holder, before the head is asked for another

}  // namespace

EventKeeper::EventKeeper(os::EventLoop& loop, const JobKey& key, NodeId self, const Settings& settings, Owner& owner)
    : loop_(loop),
      key_(key),
      self_(self),
      owner_(owner),
      store_(settings.bytes_max),
      copies_(settings.copies, in_flight_bytes_max),
      kept_(static_cast<std::size_t>(settings.copies)),
      optimist_(settings.optimist) {
  for (std::size_t i = 0; i < kept_.size(); ++i) kept_[i].number = static_cast<int>(i);
}

EventKeeper::~EventKeeper() {
  for (Copy& copy : kept_) loop_.cancel(copy.retry);
  loop_.cancel(exchange_);
  loop_.cancel(next_look_);
  loop_.cancel(held_back_);
}

// By the loop, unless this is gone by then.
void EventKeeper::soon(std::function<void()> then) {
  loop_.at(os::now(), [here = std::weak_ptr<bool>(here_), then = std::move(then)] {
    if (!here.expired()) then();
  });
}

Generation EventKeeper::generation() const { return std::ranges::max_element(kept_, {}, &Copy::generation)->generation; }

bool EventKeeper::alone() const {
  return std::ranges::all_of(kept_, [](const Copy& copy) { return copy.has_holder && copy.holder < 0; });
}

EventKeeper::Copy* EventKeeper::copy_of(std::uint64_t visit) {
  auto at = std::ranges::find(kept_, visit, [](const Copy& copy) { return copy.visit.number; });
  return visit == 0 || at == kept_.end() ? nullptr : &*at;
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

// At both levels, what both have.
EventKeeper::Extent EventKeeper::stable(Rank rank) const {
  if (!files_) return copies_.stable(rank);
  const Extent on_disk = files_->stable(rank);
  return on_nodes_ ? core::event_logger::in_both(copies_.stable(rank), on_disk) : on_disk;
}

void EventKeeper::add_rank(Rank rank, Term term, const Extent& promised, bool settled) {
  stop_carrying();
  terms_[rank] = term;
  // Of several places one is enough to find it, and all must have it before it is stable.
  const bool several = copies_.count() > 1 || (files_ && on_nodes_);
#ifdef HOLDFAST_MUTATE_FOUND_IS_STABLE
  const Extent told = promised;
#else
  const Extent told = several || !settled ? Extent{} : promised;
#endif
  if (on_nodes_) {
    copies_.add(rank, term, promised, told);
    copies_.on_published(rank, owner_.written(rank));
  }
  if (files_) files_->add_rank(rank, term, promised, told);
  for (Copy& copy : kept_) tell_cuts(copy, rank);
  tell(rank);
  pump();
}

void EventKeeper::roll_back(Rank rank, Term term, std::uint64_t position) {
  terms_[rank] = term;
  if (on_nodes_) {
    copies_.roll_back(rank, term, position);
    copies_.on_published(rank, owner_.written(rank));
  }
  if (files_) files_->roll_back(rank, term, position);
  for (Copy& copy : kept_) tell_cuts(copy, rank);
  tell(rank);
  pump();
}

void EventKeeper::set_holder(int number, int agent, Generation generation, int standby) {
  Copy& copy = kept_[static_cast<std::size_t>(number)];
  if (copy.has_holder && generation == copy.generation) {  // only who stands by is another
    drop(standby_);
    if (standby >= 0) standby_ = visit(standby);
    return;
  }
  copy.holder = agent;
  copy.generation = generation;
  copy.has_holder = true;
  copy.told_lost = false;
  copy.lost_at = os::now();
  loop_.cancel(copy.retry);
  stop_carrying();
  copies_.on_disconnected(number);  // what an old connection still brings counts no more
  drop(copy.visit);
  if (agent >= 0 && standby_.door && standby_.agent == agent) std::swap(copy.visit, standby_);
  else if (agent >= 0) copy.visit = visit(agent);
  drop(standby_);
  if (copy.open()) on_visit_open(copy.visit.number);
  if (standby >= 0) standby_ = visit(standby);
  if (agent >= 0) return;
  copies_.on_no_holder(number);
  for (auto [rank, term] : terms_) {
    see_written(rank);  // all of it is stable now, also what nobody has told of
    tell_first(rank);
  }
  pass_news();
}

EventKeeper::Visit EventKeeper::visit(int agent) {
  const std::uint64_t number = ++visits_;
  Visit out{number, agent,
            std::make_unique<ControlVisit>(loop_, key_, self_, Purpose::events, agents_[agent],
                                           ControlVisit::Handlers{[this, number] { on_visit_open(number); },
                                                                  [this, number](ControlKind kind, Bytes payload) {
                                                                    on_visit_frame(number, kind, payload);
                                                                  },
                                                                  [this, number] { on_visit_closed(number); }})};
  out.door->hold(cut_off_.contains(agent));
  return out;
}

void EventKeeper::cut_off(std::set<int> agents) {
  cut_off_ = std::move(agents);
  auto hold = [this](Visit& visit) {
    if (visit.door) visit.door->hold(cut_off_.contains(visit.agent));
  };
  for (Copy& copy : kept_) hold(copy.visit);
  hold(standby_);
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
  if (!old_visits_.empty()) soon([this] { old_visits_.clear(); });
}

void EventKeeper::on_visit_open(std::uint64_t number) {
  if (number == standby_.number && alone() && optimist_) return ask_for_known(standby_);
  Copy* copy = copy_of(number);
  if (!copy) return;  // the one that stands by
  copies_.on_connected(copy->number, copy->generation);
  for (auto [rank, term] : terms_) tell_cuts(*copy, rank);
  pump(*copy);
  if (terms_.empty() || !on_nodes_) copy->lost_at = {};  // nothing will be acknowledged
  if (optimist_) ask_for_known(copy->visit);
}

void EventKeeper::on_visit_frame(std::uint64_t number, ControlKind kind, Bytes payload) {
  if (Copy* copy = copy_of(number)) return on_holder_frame(*copy, kind, payload);
  if (number == standby_.number && kind == ControlKind::events_known && optimist_) learn(payload, standby_.door.get());
}

void EventKeeper::on_visit_closed(std::uint64_t number) {
  if (Copy* copy = copy_of(number)) on_holder_closed(*copy, "its connection is lost");
  if (number == standby_.number) drop(standby_);
}

void EventKeeper::on_holder_closed(Copy& copy, const std::string& why) {
  if (copy.lost_at.value == 0) copy.lost_at = os::now();
  stop_carrying();
  copies_.on_disconnected(copy.number);
  drop(copy.visit);
  const bool long_ago = os::now().value - copy.lost_at.value > patience_ns;
  if (long_ago && !std::exchange(copy.told_lost, true)) owner_.on_holder_lost(copy.generation, false, why);
  loop_.cancel(copy.retry);
  copy.retry = loop_.at(os::later(os::now(), retry_ms * os::millisecond_ns), [this, &copy] {
    copy.retry = 0;
    if (copy.holder >= 0) copy.visit = visit(copy.holder);
  });
}

void EventKeeper::on_holder_frame(Copy& copy, ControlKind kind, Bytes payload) {
  if (kind == ControlKind::events_stable) {
    on_answer(copy, payload);
  } else if (kind == ControlKind::events_refused) {
    if (EventsName name; read_struct(payload, name) && is_fenced_by(name)) owner_.on_fenced(Rank{name.rank});
  } else if (kind == ControlKind::events_known && optimist_) {
    learn(payload, copy.visit.door.get());
  } else if (kind == ControlKind::events_full) {
    if (!std::exchange(copy.told_lost, true)) owner_.on_holder_lost(copy.generation, true, "its memory for events is full");
  } else {
    on_holder_closed(copy, "it speaks another protocol");
  }
}

void EventKeeper::on_answer(Copy& copy, Bytes payload) {
  copy.lost_at = {};
  for (EventsStable stable; read_struct(payload, stable);) {
    Rank rank{stable.rank};
    if (!copies_.on_stable(copy.number, rank, Term{stable.term}, {stable.end, TestClock{stable.last_failed}})) {
      pass_news();
      return on_holder_closed(copy, "it answers what was not asked");
    }
    tell_first(rank);
    // Events that go with the rank's messages need not be stable, and are fetched when it says so.
    if (!carriable_ || look_again_.erase(rank) != 0) look_again(rank);
  }
  pass_news();
  pump();
  Generation held;
  if (!copies_.poll_held(copy.number, held)) return;
  owner_.on_held(held);
  held_ = copies_.count() == 1;
  carry_if_may();
}

void EventKeeper::on_settled(Rank rank) {
  if (!terms_.contains(rank) || !on_nodes_) return;
  copies_.on_settled(rank);
  look_again(rank);
  tell(rank);
  pump();
  carry_if_may();
}

// What goes with a message is in no file, and is told to be stable at the holder's node.
void EventKeeper::carry_if_may() {
  if (optimist_ || files_ || carriable_ || !held_ || !copies_.all_settled()) return;
  carriable_ = true;
  owner_.on_carriable(kept_.front().holder);
}

// Not what was under way of a hosting that was rolled back.
bool EventKeeper::is_fenced_by(const EventsName& refused) const {
  auto at = terms_.find(Rank{refused.rank});
  return at != terms_.end() && refused.term == at->second.value;
}

// The present holder may not be the next: that one must have what ranks have given to this one's. A rank stores how far that goes before
// it looks whether it still may, so that either it sees that it may not, or we see what it gave.
void EventKeeper::stop_carrying() {
  held_ = false;
  if (!std::exchange(carriable_, false)) return;
  owner_.on_carriable(-1);
  for (auto [rank, term] : terms_) {
    copies_.on_published(rank, owner_.written(rank));
    copies_.on_carried(rank, owner_.carried(rank));
  }
}

void EventKeeper::tell(Rank rank) {
  tell_first(rank);
  pass_news();
}

// Of several.
void EventKeeper::tell_first(Rank rank) {
  const Extent extent = stable(rank);
  owner_.on_stable(rank, extent);
  if (optimist_) learn(rank, terms_.at(rank), extent.end, nullptr);
}

void EventKeeper::pump() {
  for (Copy& copy : kept_) pump(copy);
}

void EventKeeper::pump(Copy& copy) {
  if (!copy.open() || held_back_ != 0) return;
  for (core::event_logger::Sender::Append append; copies_.poll_append(copy.number, append);) {
    scratch_.resize(append.end - append.position);
    if (!owner_.read_events(append.rank, append.position, scratch_)) return owner_.on_damaged(append.rank);
    const EventsAppend head{.rank = append.rank.value,
                            .term = append.term.value,
                            .generation = append.generation.value,
                            .position = append.position,
                            .promised = append.promised.end,
                            .promised_failed = append.promised.last_failed.value,
                            .last_failed = append.last_failed.value};
    copy.visit.door->channel().send(ControlKind::events_append, head, scratch_);
  }
}

}  // namespace hf::daemon
