// Taking ranks over: their events are asked of all agents that may have them, which have what counts: core/event_logger/found.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "daemon/event_keeper.hpp"
#include "os/clock.hpp"

namespace hf::daemon {

void EventKeeper::fetch(const std::vector<Wanted>& ranks, const std::vector<int>& places, OnFound on_found) {
  fetch_ = std::make_shared<Fetch>();
  fetch_->ranks = ranks;
  fetch_->on_found = std::move(on_found);
  for (const Wanted& wanted : ranks) fetch_->found[wanted.rank];
  for (int place : places) fetch_->missing[place] = ranks.size();
  for (int place : places) {
    if (lost_.contains(place)) {
      fetch_->place_lost = true;
      fetch_->missing.erase(place);
      continue;
    }
    if (place != self_.value) {
      ask(place);
      continue;
    }
    for (auto [rank, term, next] : ranks) {
      auto content = open(rank, term);
      if (content.refused) continue;
      Found own{content.known,       content.term, content.generation, content.promised,
                content.last_failed, {content.bytes.begin(), content.bytes.end()}};
      keep_found(rank, std::move(own));
      owner_.on_busy();
    }
    fetch_->missing.erase(self_.value);
  }
  if (files_) read_files(ranks);
  // Not from inside the caller.
  soon([this] { done(self_.value); });
}

void EventKeeper::keep_found(Rank rank, Found found) {
  owner_.trim(rank, found);
  core::event_logger::take(fetch_->found[rank], std::move(found), std::ranges::find(fetch_->ranks, rank, &Wanted::rank)->told_next);
}

void EventKeeper::read_files(const std::vector<Wanted>& ranks) {
  fetch_->files_missing = true;
  std::vector<EventFiles::Wanted> wanted;
  for (auto [rank, term, next] : ranks) wanted.push_back({{rank, term}, owner_.first_host(rank)});
  std::weak_ptr<Fetch> weak = fetch_;
  files_->fetch(std::move(wanted), [this, weak](EventFiles::FoundOf found, std::string failure) {
    if (auto fetch = weak.lock(); fetch && !fetch->over) on_files_read(std::move(found), std::move(failure));
  });
}

void EventKeeper::on_files_read(EventFiles::FoundOf found, std::string failure) {
  fetch_->files_missing = false;
  fetch_->files_failure = std::move(failure);
  for (auto& [rank, places] : found) {
    for (Found& one : places) {
      keep_found(rank, std::move(one));
      owner_.on_busy();
    }
  }
  conclude_fetch();
}

void EventKeeper::ask(int place) {
  std::weak_ptr<Fetch> weak = fetch_;
  auto visit = std::make_unique<ControlVisit>(
      loop_, key_, self_, Purpose::events, agents_[place],
      ControlVisit::Handlers{
          [weak, place] {
            auto fetch = weak.lock();
            if (!fetch) return;
            for (auto [rank, term, next] : fetch->ranks) {
              fetch->visits[place]->channel().send(ControlKind::events_open, EventsName{rank.value, term.value});
            }
          },
          [this, weak, place](ControlKind kind, Bytes payload) {
            auto fetch = weak.lock();
            if (!fetch || fetch->over) return;
            EventsContent content;
            if (kind == ControlKind::events_content && read_struct(payload, content)) return on_content(place, content, payload);
            give_up(fmt::format("agent {} says that they have been taken over already", place));
          },
          [this, weak, place] {
            auto fetch = weak.lock();
            if (fetch && !fetch->over && fetch->missing.contains(place)) on_place_closed(place);
          }});
  visit->hold(cut_off_.contains(place));
  fetch_->visits[place] = std::move(visit);
}

// Another place may have them too; whether what is found suffices is decided then.
void EventKeeper::on_place_closed(int place) {
  fetch_->place_lost = true;
  done(place);
}

void EventKeeper::lose_place(int agent) {
#ifndef HOLDFAST_MUTATE_LOST_PLACE_AWAITED
  lost_.insert(agent);
  if (!fetch_ || fetch_->over || !fetch_->missing.contains(agent)) return;
  if (auto visit = fetch_->visits.find(agent); visit != fetch_->visits.end()) visit->second->drop();
  on_place_closed(agent);
#endif
}

void EventKeeper::on_content(int place, const EventsContent& content, Bytes bytes) {
  Found& coming = fetch_->coming[place][Rank{content.rank}];
  const bool asked = fetch_->missing.contains(place) &&
                     std::ranges::any_of(fetch_->ranks, [&](const Wanted& r) { return r.rank.value == content.rank; });
  if (!asked || content.offset != coming.bytes.size() || bytes.size() > content.total - std::min(content.total, content.offset)) {
    return give_up(fmt::format("agent {} gives events that were not asked for", place));
  }
  coming.known = content.known != 0;
  coming.term = Term{content.held_term};
  coming.generation = Generation{content.generation};
  coming.promised = {content.promised, TestClock{content.promised_failed}};
  coming.last_failed = TestClock{content.last_failed};
  coming.bytes.insert(coming.bytes.end(), bytes.begin(), bytes.end());
  if (coming.bytes.size() < content.total) return;
  keep_found(Rank{content.rank}, std::move(coming));
  if (--fetch_->missing[place] == 0) done(place);
}

void EventKeeper::done(int place) {
  auto fetch = fetch_;
  if (!fetch || fetch->over) return;
  fetch->missing.erase(place);
  if (fetch->missing.empty()) conclude_fetch();
}

// What was stable was so at both levels: one of them is enough, and what else was found does no harm.
void EventKeeper::conclude_fetch() {
  auto fetch = fetch_;
  if (fetch->files_missing || !fetch->missing.empty()) return;
  fetch->over = true;
  loop_.at(os::now(), [fetch] { fetch->visits.clear(); });
  const bool files = files_ && fetch->files_failure.empty(), nodes = on_nodes_ && fetch->failure.empty();
  if (!files && !nodes) return fetch->on_found({.failure = files_ ? fetch->files_failure : fetch->failure});
  for (auto& [rank, best] : fetch->found) {
    // One level may have promised what the other had not: nobody was told.
    if (files && best.whole) {
      best.promised = both(best.promised, best.extent());
      best.begun = {};
    }
  }
  fetch->on_found({std::move(fetch->found), {}, files, !fetch->place_lost, fetch->files_failure});
}

void EventKeeper::give_up_fetch() {
  auto fetch = std::exchange(fetch_, nullptr);
  if (!fetch || std::exchange(fetch->over, true)) return;
  loop_.at(os::now(), [fetch] { fetch->visits.clear(); });
}

// Of the agents nothing more is awaited.
void EventKeeper::give_up(const std::string& why) {
  fetch_->failure = why;
  fetch_->missing.clear();
  conclude_fetch();
}

}  // namespace hf::daemon
