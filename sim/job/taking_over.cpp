// Node: ranks that it takes over, and their determinants, of whoever may have them. As src/daemon/event_fetch.cpp and agent_nodes.cpp.
#include <algorithm>

#include "core/vprotocol/events.hpp"
#include "sim/job/node.hpp"
#include "sim/job/world.hpp"

namespace hf::sim::job {

using core::event_logger::Found;

void Node::adopt(Adoption adoption) {
  adoptions_.push_back(std::move(adoption));
  if (adoptions_.size() == 1) next_adoption();
}

void Node::next_adoption() {
  if (adoptions_.empty()) return;
  fetch_ = std::make_unique<Fetch>();
  fetch_->adoption = adoptions_.front();
  const std::vector<AdoptedRank> ranks = fetch_->adoption.ranks;
  for (const AdoptedRank& adopted : ranks) fetch_->found[adopted.rank];
  for (NodeId place : fetch_->adoption.places) fetch_->missing[place] = ranks.size();
  for (NodeId place : fetch_->adoption.places) ask(place, ranks);
  if (!files_) return conclude_fetch();
  fetch_->files_missing = true;
  std::vector<EventFiles::Hosting> wanted;
  for (const AdoptedRank& adopted : ranks) wanted.push_back({adopted.rank, adopted.term});
  files_->fetch(std::move(wanted), [this](const EventFiles::FoundOf& found, bool failed) { on_files_read(found, failed); });
}

void Node::ask(NodeId number, const std::vector<AdoptedRank>& ranks) {
  Node& place = world_.node(number);
  const std::uint64_t group = fetch_->adoption.group;
  auto still = [this, group] { return fetch_ && fetch_->adoption.group == group; };
  if (place.dead()) {
    return world_.at_node(*this, world_.latency(false), [this, number, still] {
      if (still()) on_place_lost(number);
    });
  }
  world_.at_node(place, number == self_ ? 0 : world_.latency(false), [this, &place, ranks, still] {
    for (const AdoptedRank& adopted : ranks) {
      Store::Content content = place.store_.on_open(adopted.rank, adopted.term);
      Found found{content.known,       content.term, content.generation, content.promised,
                  content.last_failed, {content.bytes.begin(), content.bytes.end()}};
      const bool refused = content.refused && &place != this;
      if (content.refused) found = {};
      world_.at_node(*this, &place == this ? 0 : world_.latency(false),
                     [this, still, refused, number = place.self_, rank = adopted.rank, found = std::move(found)] {
                       if (!still()) return;
                       if (!refused) return on_content(number, rank, found);
                       fetch_->nodes_failed = true;  // the ranks are somebody else's by now
                       fetch_->missing.clear();
                       conclude_fetch();
                     });
    }
  });
}

void Node::keep_found(Rank rank, Found found) {
  if (world_.options().optimistic()) core::event_logger::keep(found, cuts_.of(rank).kept(found.term));
  const auto adopted = std::ranges::find(fetch_->adoption.ranks, rank, &AdoptedRank::rank);
  core::event_logger::take(fetch_->found[rank], std::move(found), adopted->told.next);
}

void Node::on_content(NodeId place, Rank rank, Found found) {
  if (!fetch_->missing.contains(place)) return;
  keep_found(rank, std::move(found));
  if (--fetch_->missing[place] > 0) return;
  fetch_->missing.erase(place);
  conclude_fetch();
}

void Node::on_place_gone(NodeId place) {
  if (fetch_) on_place_lost(place);
}

// With several copies another holder has them too.
void Node::on_place_lost(NodeId place) {
  if (fetch_->missing.erase(place) == 0) return;
  if (copies_.size() == 1) {
    fetch_->nodes_failed = true;
    fetch_->missing.clear();
  }
  fetch_->place_lost = true;
  conclude_fetch();
}

void Node::on_files_read(const EventFiles::FoundOf& found, bool failed) {
  if (!fetch_) return;
  fetch_->files_missing = false;
  fetch_->files_failed = failed;
  for (const auto& [rank, places] : found) {
    for (const Found& one : places) keep_found(rank, one);
  }
  conclude_fetch();
}

// What was stable was so at both levels: one of them is enough, and what else was found does no harm.
void Node::conclude_fetch() {
  if (fetch_->files_missing || !fetch_->missing.empty()) return;
  const bool files = files_ && !fetch_->files_failed, nodes = world_.options().on_nodes() && !fetch_->nodes_failed;
  if (!files && !nodes) {
    fetch_.reset();
    return world_.head().on_adopt_failed(*this);
  }
  for (AdoptedRank& rank : fetch_->adoption.ranks) {
    Found& best = fetch_->found[rank.rank];
    // One level may have promised what the other had not: nobody was told.
    if (files && best.whole) {
      best.promised = both(best.promised, best.extent());
      best.begun = {};
    }
    if (files) rank.told.place_lost = false;
    else rank.told.place_lost |= fetch_->place_lost;
  }
  adopt_all();
}

void Node::adopt_all() {
  auto fetch = std::move(fetch_);
  for (const AdoptedRank& adopted : fetch->adoption.ranks) {
    Found& found = fetch->found[adopted.rank];
    if (!core::event_logger::suffices(found, adopted.told)) return world_.head().on_adopt_failed(*this);
    found.bytes.resize(core::vprotocol::whole_events(found.bytes));
  }
  if (world_.options().optimistic()) {
    propose(std::move(fetch));
  } else {
    for (const AdoptedRank& adopted : fetch->adoption.ranks) set_up(adopted, fetch->adoption.group, fetch->found[adopted.rank]);
    for (const AdoptedRank& adopted : fetch->adoption.ranks) start(adopted.rank, adopted.incarnation);
    world_.head().on_adopted(*this, fetch->adoption.group);
    pump();
  }
  adoptions_.pop_front();
  next_adoption();
}

void Node::set_up(const AdoptedRank& adopted, std::uint64_t group, Found& found) {
  Host& host = hosts_[adopted.rank];
  host = {};
  host.term = adopted.term;
  host.group = group;
  replace_logs(host, adopted.rank, Incarnation(adopted.incarnation.value - 1), std::move(found.bytes), found.last_failed);
  add_rank(adopted.rank, adopted.term, written(host));
  tell(adopted.rank);
}

void Node::replace_logs(Host& host, Rank rank, Incarnation incarnation, std::vector<std::byte> events, TestClock last_failed) {
  host.logs.clear();
  host.recorded = {};
  auto& log = host.logs.emplace_back(std::make_unique<RankLog>());
  log->rank = rank;
  log->incarnation = incarnation;
  log->events = std::move(events);
  log->last_failed = last_failed;
  log->ended = true;
}

}  // namespace hf::sim::job
