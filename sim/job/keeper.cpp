// Node: determinants of its ranks at holders and in its file, those of others' ranks held here. As src/daemon/event_keeper.cpp and
// event_holding.cpp.
#include <algorithm>

#include "sim/job/mutation.hpp"
#include "sim/job/node.hpp"
#include "sim/job/world.hpp"

namespace hf::sim::job {

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

// ---- its ranks

void Node::determined(Rank rank) {
  if (!world_.options().keeps_events()) return;
  if (world_.options().optimistic() && std::exchange(hosts_.at(rank).is_looked_at, true)) return;
  world_.at_node(*this, world_.pace().look(200, 3000), [this, rank] { look(rank); });
}

void Node::add_rank(Rank rank, Term term, const Extent& promised) {
  const bool both = (files_ && world_.options().on_nodes()) || copies_.size() > 1;
  const Extent told = both && !HF_MUTATED(FOUND_ONCE_IS_STABLE) ? Extent{} : promised;  // one of them may be without it
  world_.checker().on_wanted(rank, term, wanted());
  if (!both) world_.checker().on_stored(rank, stored_and_found, term, promised.end, events(rank, 0, promised.end), promised.last_failed);
  if (world_.options().on_nodes()) {
    sent_.add(rank, term, promised, told);
    sent_.on_published(rank, written(rank));
  }
  if (files_) files_->add_rank(rank, term, promised, told);
}

void Node::on_settled(Rank rank) {
  sent_.on_settled(rank);
  tell(rank);
  look_again(rank);
  pump();
}

void Node::look(Rank rank) {
  hosts_.at(rank).is_looked_at = false;
  if (hosts_.at(rank).is_rolled_back) return;
  look_again(rank);
  if (alone()) return tell(rank);
  pump();
}

void Node::look_again(Rank rank) {
  if (hosts_.at(rank).is_rolled_back) return;
  if (world_.options().on_nodes()) sent_.on_published(rank, written(rank));
  if (files_) files_->look(rank);
}

void Node::on_stable_on_disk(Rank rank) {
  tell(rank);
  look_again(rank);
  pump();
}

// At both levels, what both have.
Extent Node::stable_everywhere(Rank rank) const {
  if (!files_) return sent_.stable(rank);
  return world_.options().on_nodes() ? core::event_logger::in_both(sent_.stable(rank), files_->stable(rank)) : files_->stable(rank);
}

void Node::tell(Rank rank) {
  Host& host = hosts_.at(rank);
  host.told = stable_everywhere(rank);
  if (alone()) {
    world_.checker().on_stored(rank, stored_here, host.term, host.told.end, read_events(host, 0, host.told.end), host.told.last_failed);
  }
  if (world_.options().optimistic()) return know_stable(rank, host.term, host.told.end);
  if (!host.process) return;
  world_.at_process(*host.process, world_.pace().look(200, 2000), [](Process& p) { p.happen([&p] { p.on_stable_told(); }); });
}

// ---- its holders

bool Node::alone() const {
  return std::ranges::all_of(copies_, [](const Copy& copy) { return copy.has_holder && copy.holder.value < 0; });
}

StoredEvents::Wanted Node::wanted() const {
  if (!world_.options().on_nodes()) return {0, files_ != nullptr};
  const auto lacking = std::ranges::count_if(copies_, &Copy::lacks);
  return {static_cast<int>(std::ssize(copies_) - lacking), files_ != nullptr};
}

// For the checker.
void Node::want() {
  for (const auto& [rank, host] : hosts_) world_.checker().on_wanted(rank, host.term, wanted());
}

bool Node::is_held_by(NodeId other) const { return std::ranges::find(copies_, other, &Copy::holder) != copies_.end(); }

NodeId Node::any_holder(std::uint64_t choice) const { return copies_[choice % copies_.size()].holder; }

void Node::set_holder(std::size_t number, NodeId holder, Generation generation) {
  Copy& copy = copies_[number];
  copy.holder = holder;
  copy.generation = generation;
  copy.has_holder = true;
  disconnect(number);  // what an old connection still brings counts no more
  if (holder.value >= 0) return connect(number);
  copy.lacks = true;
  want();
  sent_.on_no_holder(static_cast<int>(number));
  for (auto& [rank, host] : hosts_) tell(rank);
}

void Node::disconnect(std::size_t number) {
  sent_.on_disconnected(static_cast<int>(number));
  ++copies_[number].visit;
  copies_[number].slow_ns = 0;
}

void Node::connect(std::size_t number) {
  world_.at_node(*this, 2 * world_.latency(false), [this, number, visit = copies_[number].visit] {
    Copy& copy = copies_[number];
    if (visit != copy.visit || copy.holder.value < 0 || world_.node(copy.holder).dead()) return;
    copy.visit_last = 0;
    copy.lacks = false;
    want();
    sent_.on_connected(static_cast<int>(number), copy.generation);
    pump(number);
    if (world_.options().optimistic()) meet(world_.node(copy.holder));
  });
}

// Lost with what was on its way, and made again.
void Node::lose_holder_connection(std::uint64_t choice) {
  const std::size_t number = choice % copies_.size();
  if (copies_[number].holder.value < 0) return;
  disconnect(number);
  connect(number);
}

// Its visit is given up after a while, as the daemon's keeper does, and the head names another; this one goes on.
void Node::slow_holder(std::uint64_t choice) {
  constexpr std::int64_t patience_ns = 400'000;
  const std::size_t number = choice % copies_.size();
  Copy& copy = copies_[number];
  if (copy.holder.value < 0) return;
  copy.slow_ns = world_.random().between(1, std::int64_t{1} << (10 + world_.random().below(13)));
  world_.at_node(*this, world_.random().between(1, patience_ns), [this, number, visit = copy.visit, generation = copy.generation] {
    if (copies_[number].visit != visit) return;
    copies_[number].given_up = visit;
    disconnect(number);
    world_.head().on_holder_lost(*this, generation);
  });
}

void Node::on_holder_closed(NodeId holder) {
  for (std::size_t number = 0; number < copies_.size(); ++number) {
    if (copies_[number].holder == holder) disconnect(number);
  }
}

void Node::pump() {
  for (std::size_t number = 0; number < copies_.size(); ++number) pump(number);
}

void Node::pump(std::size_t number) {
  Copy& copy = copies_[number];
  for (Sender::Append append; sent_.poll_append(static_cast<int>(number), append);) {
    auto bytes = events(append.rank, append.position, append.end);
    Node& holder = world_.node(copy.holder);
    const std::int64_t passage = world_.pace().passage(world_.now(), self_, false, bytes.size());
    copy.visit_last = std::max(copy.visit_last + 1, world_.now().value + passage + copy.slow_ns);
    world_.at_node(holder, copy.visit_last - world_.now().value,
                   [this, number, &holder, visit = copy.visit, append, cuts = cuts_.of(append.rank), bytes = std::move(bytes)] {
                     holder.on_append(*this, number, visit, append, cuts, bytes);
                   });
  }
}

// The other node's visit may have ended meanwhile: what was on its way is lost with it.
void Node::on_append(Node& from, std::size_t copy, std::uint64_t visit, const Sender::Append& append, const core::vprotocol::Cuts& cuts,
                     const std::vector<std::byte>& bytes) {
  const bool is_late = visit == from.copies_[copy].given_up;
  if (from.copies_[copy].visit != visit && !is_late) return;
  if (world_.options().optimistic()) store_.on_cut(append.rank, append.term, cuts.kept(store_.term(append.rank)));
  const auto verdict =
      store_.on_append(append.rank, append.term, append.generation, append.position, append.promised, append.last_failed, bytes);
  if (is_late && verdict != Store::Verdict::taken) return;  // what it answers nobody hears
  if (verdict == Store::Verdict::refused) {
    return world_.at_node(from, world_.latency(false), [&from] { from.end(false); });
  }
  // One whose ranks are elsewhere, and whose events were forgotten here.
  if (verdict == Store::Verdict::gap && world_.head().lost(from.self_)) return;
  if (verdict != Store::Verdict::taken) return world_.checker().violation("a holder has not got what stands before an append");
  const Extent extent{store_.end(append.rank), store_.last_failed(append.rank)};
  world_.checker().on_stored(append.rank, self_.value, append.term, extent.end, bytes, append.last_failed);
  if (HF_MUTATED(HOLDER_TELLS) && world_.options().optimistic()) know_stable(append.rank, append.term, extent.end);
  if (is_late) return;
  const std::int64_t taken_in = world_.pace().append(world_.now(), self_);
  world_.at_node(from, world_.latency_in_order(from.copies_[copy].visit_last, taken_in), [&from, copy, visit, append, extent] {
    from.on_answer(copy, visit, append.rank, append.term, extent);
  });
}

void Node::on_answer(std::size_t copy, std::uint64_t visit, Rank rank, Term term, const Extent& extent) {
  const bool counts = HF_MUTATED(COUNT_OLD_VISITS) ? hosts_.contains(rank) : visit == copies_[copy].visit;
  if (!counts) return;
  if (!sent_.on_stable(static_cast<int>(copy), rank, term, extent) && !HF_MUTATED(COUNT_OLD_VISITS)) {
    return world_.checker().violation("a holder answers what was not asked");
  }
  tell(rank);
  look_again(rank);
  pump();
  if (Generation held; sent_.poll_held(static_cast<int>(copy), held)) world_.head().on_held(*this, held);
}

}  // namespace hf::sim::job
