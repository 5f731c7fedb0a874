// Node: determinants of its ranks at a holder, those of others' ranks held here, those of ranks that it takes over. As
// src/daemon/event_keeper.cpp, event_holding.cpp, event_fetch.cpp and agent_nodes.cpp.
#include "core/vprotocol/events.hpp"
#include "sim/job/node.hpp"
#include "sim/job/world.hpp"

namespace hf::sim::job {

using core::event_logger::Found;

Extent Node::written(const Host& host) const {
  Extent extent;
  for (const auto& log : host.logs) {
    extent.end += log->events.size();
    extent.last_failed = std::max(extent.last_failed, log->last_failed);
  }
  if (world_.options().optimistic()) extent.last_failed = {};  // it is an event where it matters
  return extent;
}

std::vector<std::byte> Node::read_events(const Host& host, std::uint64_t begin, std::uint64_t end) const {
  std::vector<std::byte> out;
  std::uint64_t at = 0;
  for (const auto& log : host.logs) {
    const std::uint64_t size = log->events.size();
    const std::uint64_t from = std::max(begin, at), to = std::min(end, at + size);
    if (from < to) {
      out.insert(out.end(), log->events.begin() + static_cast<std::ptrdiff_t>(from - at),
                 log->events.begin() + static_cast<std::ptrdiff_t>(to - at));
    }
    at += size;
  }
  return out;
}

void Node::determined(Rank rank) {
  if (!world_.options().node_level) return;
  if (world_.options().optimistic() && std::exchange(hosts_.at(rank).is_looked_at, true)) return;
  world_.at_node(*this, world_.random().between(200, 3000), [this, rank] { look(rank); });
}

void Node::look(Rank rank) {
  hosts_.at(rank).is_looked_at = false;
  if (hosts_.at(rank).is_rolled_back) return;
  sender_.on_published(rank, written(hosts_.at(rank)));
  if (has_holder_ && holder_.value < 0) return tell(rank);
  pump();
}

void Node::tell(Rank rank) {
  Host& host = hosts_.at(rank);
  host.told = sender_.stable(rank);
  if (world_.options().optimistic()) {
    if (has_holder_ && holder_.value < 0) world_.checker().lineage().on_stable(rank, host.term, host.told.end);
    return know_stable(rank, host.term, host.told.end);
  }
  if (has_holder_ && holder_.value < 0) world_.checker().on_stable(rank, read_events(host, 0, host.told.end), host.told.last_failed);
  if (!host.process) return;
  world_.at_process(*host.process, world_.random().between(200, 2000), [](Process& p) { p.happen([&p] { p.on_stable_told(); }); });
}

void Node::set_holder(NodeId holder, Generation generation) {
  holder_ = holder;
  generation_ = generation;
  has_holder_ = true;
  sender_.on_disconnected();  // what an old connection still brings counts no more
  ++visit_;
  if (holder.value >= 0) return connect();
  sender_.on_no_holder();
  for (auto& [rank, host] : hosts_) tell(rank);
}

void Node::connect() {
  const std::uint64_t visit = visit_;
  world_.at_node(*this, 2 * world_.latency(false), [this, visit] {
    if (visit != visit_ || holder_.value < 0 || world_.node(holder_).dead()) return;
    visit_last_ = 0;
    sender_.on_connected(generation_);
    pump();
    if (world_.options().optimistic()) meet(world_.node(holder_));
  });
}

// Lost with what was on its way, and made again.
void Node::lose_holder_connection() {
  if (holder_.value < 0) return;
  sender_.on_disconnected();
  ++visit_;
  connect();
}

void Node::on_holder_closed(NodeId holder) {
  if (holder != holder_) return;
  sender_.on_disconnected();
  ++visit_;
}

void Node::pump() {
  for (Sender::Append append; sender_.poll_append(append);) {
    auto bytes = read_events(hosts_.at(append.rank), append.position, append.end);
    Node& holder = world_.node(holder_);
    visit_last_ = std::max(visit_last_ + 1, world_.now().value + world_.latency(false));
    world_.at_node(holder, visit_last_ - world_.now().value,
                   [this, &holder, visit = visit_, append, cuts = cuts_.of(append.rank), bytes = std::move(bytes)] {
                     holder.on_append(*this, visit, append, cuts, bytes);
                   });
  }
}

// The other node's visit may have ended meanwhile: what was on its way is lost with it.
void Node::on_append(Node& from, std::uint64_t visit, const Sender::Append& append, const core::vprotocol::Cuts& cuts,
                     const std::vector<std::byte>& bytes) {
  if (from.visit_ != visit) return;
  if (world_.options().optimistic()) store_.on_cut(append.rank, append.term, cuts.kept(store_.term(append.rank)));
  const auto verdict =
      store_.on_append(append.rank, append.term, append.generation, append.position, append.promised, append.last_failed, bytes);
  if (verdict == Store::Verdict::refused) {
    return world_.at_node(from, world_.latency(false), [&from] { from.end(false); });
  }
  // One whose ranks are elsewhere, and whose events were forgotten here.
  if (verdict == Store::Verdict::gap && world_.head().lost(from.self_)) return;
  if (verdict != Store::Verdict::taken) return world_.checker().violation("a holder has not got what stands before an append");
  if (world_.options().optimistic()) {
    world_.checker().lineage().on_stable(append.rank, append.term, store_.end(append.rank));
#ifdef HOLDFAST_MUTATE_HOLDER_TELLS
    know_stable(append.rank, append.term, store_.end(append.rank));
#endif
  } else {
    world_.checker().on_stable(append.rank, bytes, append.last_failed);
  }
  const Extent extent{store_.end(append.rank), store_.last_failed(append.rank)};
  world_.at_node(from, world_.latency_in_order(from.visit_last_), [&from, visit, append, extent] {
    from.on_answer(visit, append.rank, append.term, extent);
  });
}

void Node::on_answer(std::uint64_t visit, Rank rank, Term term, const Extent& extent) {
#ifdef HOLDFAST_MUTATE_COUNT_OLD_VISITS
  if (!hosts_.contains(rank)) return;
  sender_.on_stable(rank, term, extent);
#else
  if (visit != visit_) return;
  if (!sender_.on_stable(rank, term, extent)) return world_.checker().violation("a holder answers what was not asked");
#endif
  tell(rank);
  if (!hosts_.at(rank).is_rolled_back) sender_.on_published(rank, written(hosts_.at(rank)));
  pump();
  if (Generation held; sender_.poll_held(held)) world_.head().on_held(*this, held);
}

// ---- taking ranks over

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
  for (NodeId number : fetch_->adoption.places) {
    Node& place = world_.node(number);
    if (place.dead()) {
      world_.at_node(*this, world_.latency(false), [this, number] { on_place_lost(number); });
      continue;
    }
    world_.at_node(place, number == self_ ? 0 : world_.latency(false), [this, &place, ranks] {
      for (const AdoptedRank& adopted : ranks) {
        Store::Content content = place.store_.on_open(adopted.rank, adopted.term);
        Found found{content.known,       content.term, content.generation, content.promised,
                    content.last_failed, {content.bytes.begin(), content.bytes.end()}};
        const bool refused = content.refused && &place != this;
        if (content.refused) found = {};
        world_.at_node(*this, &place == this ? 0 : world_.latency(false),
                       [this, refused, number = place.self_, rank = adopted.rank, found = std::move(found)] {
                         if (refused) on_place_lost(number);
                         else on_content(number, rank, found);
                       });
      }
    });
  }
  if (fetch_->missing.empty()) adopt_all();
}

void Node::on_content(NodeId place, Rank rank, Found found) {
  if (!fetch_ || !fetch_->missing.contains(place) || !fetch_->found.contains(rank)) return;
  if (world_.options().optimistic()) core::event_logger::keep(found, cuts_.of(rank).kept(found.term));
  core::event_logger::take(fetch_->found[rank], std::move(found));
  if (--fetch_->missing[place] > 0) return;
  fetch_->missing.erase(place);
  if (fetch_->missing.empty()) adopt_all();
}

// It is gone, or the ranks are somebody else's by now.
void Node::on_place_lost(NodeId place) {
  if (!fetch_ || !fetch_->missing.contains(place)) return;
  fetch_.reset();
  world_.head().on_adopt_failed(*this);
}

void Node::adopt_all() {
  auto fetch = std::move(fetch_);
  for (const AdoptedRank& adopted : fetch->adoption.ranks) {
    Found& found = fetch->found[adopted.rank];
    if (!core::event_logger::suffices(found, adopted.term, adopted.whole_from)) return world_.head().on_adopt_failed(*this);
    found.bytes.resize(core::vprotocol::whole_events(found.bytes));
  }
  if (world_.options().optimistic()) {
    propose(std::move(fetch));
  } else {
    for (const AdoptedRank& adopted : fetch->adoption.ranks) set_up(adopted, fetch->found[adopted.rank]);
    for (const AdoptedRank& adopted : fetch->adoption.ranks) start(adopted.rank, adopted.incarnation);
    world_.head().on_adopted(*this, fetch->adoption.group);
    pump();
  }
  adoptions_.pop_front();
  next_adoption();
}

void Node::set_up(const AdoptedRank& adopted, Found& found) {
  Host& host = hosts_[adopted.rank];
  host = {};
  host.term = adopted.term;
  replace_logs(host, adopted.rank, Incarnation(adopted.incarnation.value - 1), std::move(found.bytes), found.last_failed);
  sender_.add(adopted.rank, adopted.term, written(host));
  sender_.on_published(adopted.rank, written(host));
  tell(adopted.rank);
}

void Node::replace_logs(Host& host, Rank rank, Incarnation incarnation, std::vector<std::byte> events, TestClock last_failed) {
  host.logs.clear();
  auto& log = host.logs.emplace_back(std::make_unique<RankLog>());
  log->rank = rank;
  log->incarnation = incarnation;
  log->events = std::move(events);
  log->last_failed = last_failed;
  log->ended = true;
}

}  // namespace hf::sim::job
