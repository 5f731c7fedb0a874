#include "sim/job/node.hpp"

#include "sim/job/world.hpp"

namespace hf::sim::job {

Node::Node(World& world, NodeId self)
    : world_(world),
      self_(self),
      sent_(world.options().event_copies, world.options().in_flight_bytes_max(), world.options().append_bytes_max()),
      copies_(static_cast<std::size_t>(world.options().event_copies)) {
  if (world.options().on_disk()) files_ = std::make_unique<EventFiles>(world, *this);
}

BoardEntry Node::board(Rank rank) const {
  auto own = own_board_.find(rank);
  const BoardEntry* heard = world_.head().told().newest(rank, heard_);
  if (own == own_board_.end()) return heard ? *heard : world_.original(rank);
  return heard && !heard->is_older_than(own->second) ? *heard : own->second;
}

void Node::on_board(Rank rank, const BoardEntry& entry) {
  if (entry.is_older_than(board(rank))) return;
  own_board_[rank] = entry;
  tell_of(rank, entry.state);
}

void Node::hear(std::uint64_t number, Rank rank, const BoardEntry& entry) {
  const bool is_old = entry.is_older_than(board(rank));
  heard_ = number;
  if (!is_old) tell_of(rank, entry.state);
}

// A rank is told of those whom it has met: all of a job end, and each of its ranks has met a few.
void Node::hear_ends(std::uint64_t last, const std::map<Rank, BoardEntry>& ends) {
  heard_ = last;
  for (auto& [own, host] : hosts_) {
    if (!host.process) continue;
    for (const Rank rank : host.process->met_of(ends)) {
      if (!host.process) break;
      if (rank == own || ends.at(rank).is_older_than(board(rank))) continue;
      world_.to_process(*host.process, [rank](Process& p) { p.on_board(rank); });
    }
  }
}

void Node::tell_of(Rank rank, RankState state) {
  for (auto& [own, host] : hosts_) {
    if (!host.process || own == rank) continue;
    // The engine looks into the log of everybody who ends: that many questions nobody simulates.
    if (state == RankState::finished && !host.process->has_met(rank)) continue;
    world_.to_process(*host.process, [rank](Process& p) { p.on_board(rank); });
  }
}

// ---- ranks

void Node::host(Rank rank, Term term) {
  hosts_[rank].term = term;
  add_rank(rank, term, {});
}

void Node::start_first(Rank rank) { start(rank, Incarnation{}); }

void Node::start(Rank rank, Incarnation incarnation) {
  if (world_.options().optimistic() && look_at(rank)) return;
  Host& host = hosts_.at(rank);
  auto& log = host.logs.emplace_back(std::make_unique<RankLog>());
  log->rank = rank;
  log->incarnation = incarnation;
  host.process = std::make_unique<Process>(world_, *this, rank, incarnation, *log);
  BoardEntry entry{incarnation, RankState::running, self_, host.logs.front()->incarnation};
  if (incarnation.value > 0) {
    on_board(rank, entry);
    world_.head().report(*this, rank, entry);
  }
  world_.at_process(*host.process, world_.pace().look(0, 2000), [](Process& p) { p.start(); });
}

void Node::kill(Process& process) {
  const Rank rank = process.self();
  const Incarnation incarnation = process.incarnation();
  Host& host = hosts_.at(rank);
  if (!world_.head().lost(self_)) world_.checker().on_died(process.life());
  world_.network().on_end(process, false);
  end_log(*host.logs.back());
  host.process.reset();
  world_.at_node(*this, world_.random().between(100, 20'000), [this, rank, incarnation] {
    if (!dies_alone(rank, incarnation)) return;
    BoardEntry entry{incarnation, RankState::dead, self_, hosts_.at(rank).logs.front()->incarnation};
    on_board(rank, entry);
    world_.head().report(*this, rank, entry);
    world_.at_node(*this, world_.random().between(1000, 100'000), [this, rank, incarnation] {
      if (dies_alone(rank, incarnation)) start(rank, incarnation.next());
    });
  });
}

// Nothing else has happened to it meanwhile.
bool Node::dies_alone(Rank rank, Incarnation incarnation) const {
  const Host& host = hosts_.at(rank);
  return !host.is_rolled_back && !host.process && host.logs.back()->incarnation == incarnation;
}

void Node::on_finished(Process& process) {
  const Rank rank = process.self();
  Host& host = hosts_.at(rank);
  BoardEntry entry{process.incarnation(), RankState::finished, self_, host.logs.front()->incarnation};
  world_.network().on_end(process, false);
  end_log(*host.logs.back());
  host.process.reset();
  on_board(rank, entry);
  world_.head().report(*this, rank, entry);
}

void Node::end(bool silent) {
  if (std::exchange(dead_, true)) return;
  for (auto& [rank, host] : hosts_) {
    if (host.process) world_.network().on_end(*host.process, silent);
    host.process.reset();
    world_.checker().on_hosting_over(rank, host.term);
  }
  hosts_.clear();
  deferred_.clear();
  fetch_.reset();
  world_.on_node_gone(self_);
}

void Node::resume() {
  paused_ = false;
  for (auto& action : std::exchange(deferred_, {})) {
    if (dead_) return;
    if (paused_) defer(std::move(action));
    else action();
  }
}

// ---- logs, for whoever asks

const RankLog* Node::log(Rank rank, Incarnation incarnation) const {
  auto host = hosts_.find(rank);
  if (host == hosts_.end()) return nullptr;
  for (const auto& log : host->second.logs) {
    if (log->incarnation == incarnation) return log.get();
  }
  return nullptr;
}

void Node::on_question(Rank source, Incarnation incarnation, const RankLog::Follower& question, bool follow) {
  const RankLog* found = log(source, incarnation);
  if (!found) {
    return world_.answer(*this, question, source, {.absent = true});
  }
  auto stream = found->streams.find(question.reader);
  const std::size_t published = stream == found->streams.end() ? 0 : stream->second.published;
  if (follow && !found->ended && published <= question.position) return const_cast<RankLog*>(found)->followers.push_back(question);
  Process::Answer answer{.is_final = found->ended, .published = published};
  if (published > question.position) {
    answer.records.assign(stream->second.records.begin() + static_cast<std::ptrdiff_t>(question.position),
                          stream->second.records.begin() + static_cast<std::ptrdiff_t>(published));
  }
  world_.answer(*this, question, source, std::move(answer));
}

void Node::on_published(RankLog& log, Rank to) {
  if (log.followers.empty()) return;
  std::vector<RankLog::Follower> left;
  for (const RankLog::Follower& f : std::exchange(log.followers, {})) {
    if (f.reader != to) left.push_back(f);
    else on_question(log.rank, log.incarnation, f, false);
  }
  log.followers = std::move(left);
}

void Node::end_log(RankLog& log) {
  log.ended = true;
  for (const RankLog::Follower& f : std::exchange(log.followers, {})) on_question(log.rank, log.incarnation, f, false);
}

}  // namespace hf::sim::job
