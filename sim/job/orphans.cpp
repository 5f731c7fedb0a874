// Node: under optimist, the board's cuts and stable vector, orphans among its ranks (docs/optimist.md).
#include <algorithm>

#include "core/vprotocol/events.hpp"
#include "sim/job/mutation.hpp"
#include "sim/job/node.hpp"
#include "sim/job/world.hpp"

namespace hf::sim::job {

using core::event_logger::Found;
using core::vprotocol::Cuts;
using core::vprotocol::Dependency;

std::vector<std::byte> Node::stream(Rank rank) const {
  const Host& host = hosts_.at(rank);
  return read_events(host, 0, UINT64_MAX);
}

// ---- the board

bool Node::read_cuts(std::size_t& seen, bool all, core::vprotocol::CutTable& out) const {
  constexpr std::int64_t unseen_ns = 500;
  const std::size_t before = seen;
  for (; seen < cut_log_.size(); ++seen) {
    const Cut& cut = cut_log_[seen];
    if (!all && cut.written.value + unseen_ns > world_.now().value) break;
    out.add(cut.rank, cut.term, cut.position);
  }
  return seen > before;
}

// The cut is written first, then the streams are looked at: a rank writes its record first and looks at the cuts then.
void Node::on_cut(Rank rank, Term term, std::uint64_t position) {
  ++cuts_heard_;
  const auto added = cuts_.add(rank, term, position);
  if (added == Cuts::Added::full) return world_.end_by_rule("more cuts than a board keeps");
  if (added == Cuts::Added::old) return;
  cut_log_.push_back({rank, term, position, world_.now()});
  look_for_orphans();
  tell_ranks();
}

void Node::tell_ranks() {
  if (std::exchange(tells_, true)) return;
  world_.at_node(*this, world_.pace().look(200, 2000), [this] {
    tells_ = false;
    for (auto& [rank, host] : hosts_) {
      if (host.process) world_.to_process(*host.process, [](Process& p) { p.on_board_changed(); });
    }
  });
}

// ---- orphans

void Node::look_for_orphans() {
  std::vector<Rank> ranks;
  for (const auto& [rank, host] : hosts_) ranks.push_back(rank);
  for (Rank rank : ranks) look_at(rank);
}

void Node::on_stopped(Rank rank, Incarnation incarnation) {
  world_.at_node(*this, world_.random().between(100, 1000), [this, rank, incarnation] {
    auto host = hosts_.find(rank);
    if (host != hosts_.end() && host->second.process && host->second.process->incarnation() == incarnation) look_at(rank);
  });
}

// True: it is an orphan, and is ended, whether it lives, is dead or has finished.
bool Node::look_at(Rank rank) {
  Host& host = hosts_.at(rank);
  if (host.is_rolled_back) return true;
  host.recorded.take(read_events(host, host.recorded.taken(), UINT64_MAX), cuts_);
  host.recorded.forget_stable(cuts_, stable_);
  const auto cut = host.recorded.first_lost(cuts_);
  if (!cut) return false;
  world_.on_orphan(*this, rank, host.process.get(), *cut, cuts_heard_);
  host.is_rolled_back = true;
  const Incarnation incarnation = host.logs.back()->incarnation;
  if (host.process) world_.network().on_end(*host.process, false);
  end_log(*host.logs.back());
  host.process.reset();
  world_.head().on_orphan(*this, rank, incarnation, host.term, *cut);
  return true;
}

void Node::roll_back(Rank rank, Term term, Incarnation incarnation, std::uint64_t cut) {
  Host& host = hosts_.at(rank);
  host.is_rolled_back = false;
  world_.checker().on_wanted(rank, term, wanted());
  world_.checker().on_hosting_over(rank, host.term);
  host.term = term;
  replace_logs(host, rank, Incarnation(incarnation.value - 1), read_events(host, 0, cut), {});
  if (world_.options().on_nodes()) sent_.roll_back(rank, term, cut);
  if (files_) files_->roll_back(rank, term, cut);
  tell(rank);
  start(rank, incarnation);
  look_again(rank);
  pump();
}

// ---- ranks taken over

// Of ranks that are taken over together each one's beginning may be what another one's lacks.
void Node::cut_found(Fetch& fetch) const {
  for (bool again = true; again;) {
    again = false;
    core::vprotocol::CutTable cuts = cuts_;
    for (const AdoptedRank& rank : fetch.adoption.ranks) {
      std::vector<std::byte>& events = fetch.found[rank.rank].bytes;
      events.resize(core::vprotocol::whole_events(events));
      cuts.add(rank.rank, rank.term, events.size());
    }
    for (auto& [rank, found] : fetch.found) {
      const auto lost = core::vprotocol::first_lost(found.bytes, cuts);
      if (!lost) continue;
      core::event_logger::keep(found, *lost);
      again = true;
    }
  }
}

// Nothing of the new term exists before the head has told everybody where the old one was cut.
void Node::propose(std::unique_ptr<Fetch> fetch) {
  cut_found(*fetch);
  std::vector<std::uint64_t> positions;
  for (const AdoptedRank& adopted : fetch->adoption.ranks) positions.push_back(fetch->found[adopted.rank].bytes.size());
  const Adoption adoption = fetch->adoption;
  proposed_[adoption.group] = std::move(fetch);
  world_.head().on_proposed(*this, adoption, std::move(positions));
  if (HF_MUTATED(BEGIN_UNTOLD)) begin(adoption.group);
}

void Node::begin(std::uint64_t group) {
  auto at = proposed_.find(group);
  if (at == proposed_.end()) return;
  auto fetch = std::move(at->second);
  proposed_.erase(at);
  for (const AdoptedRank& adopted : fetch->adoption.ranks) {
    Found& found = fetch->found[adopted.rank];
    found.last_failed = {};
    set_up(adopted, group, found);
  }
  for (const AdoptedRank& adopted : fetch->adoption.ranks) start(adopted.rank, adopted.incarnation);
  world_.head().on_adopted(*this, group);
  pump();
}

// ---- who knows what is stable

// Of its own ranks, when the holder has answered: the holder may be lost, and the next one must be promised what anybody was told.
void Node::know_stable(Rank rank, Term term, std::uint64_t end) {
  if (!stable_.raise({rank, term, end})) return;
  tell_ranks();
  spread();
}

void Node::on_stable_known(const std::vector<Dependency>& known) {
  bool changed = false;
  for (const Dependency& d : known) changed |= stable_.raise(d);
  if (!changed) return;
  tell_ranks();
  spread();
}

// A connection to a holder begins with all that both sides know; and who may be a holder only now asks the others.
void Node::meet(Node& holder) {
  told_.erase(holder.self_);
  spread();
  world_.at_node(holder, world_.latency(false), [&world = world_, &holder, guest = self_] {
    holder.told_.erase(guest);
    holder.spread();
    for (NodeId other : world.listeners(holder.self_)) {
      Node& asked = world.node(other);
      world.at_node(asked, world.latency(false), [&asked, to = holder.self_] {
        asked.told_.erase(to);
        asked.spread();
      });
    }
  });
}

// To holders and to whom it holds for, what has changed since it told them last; a little later, all at once.
void Node::spread() {
  if (std::exchange(spreads_, true)) return;
  world_.at_node(*this, world_.pace().exchange(1000, 100'000), [this] {
    spreads_ = false;
    for (NodeId to : world_.listeners(self_)) {
      std::vector<Dependency> changes;
      stable_.take_changes(told_[to], changes);
      if (changes.empty()) continue;
      Node& other = world_.node(to);
      world_.at_node(other, world_.latency(false), [&other, changes] { other.on_stable_known(changes); });
    }
  });
}

}  // namespace hf::sim::job
