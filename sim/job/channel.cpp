// Process: connections, births and deaths of peers, and the logs of others. As src/engine/{board,remote,remote_feed}.cpp.
#include "sim/job/mutation.hpp"
#include "sim/job/node.hpp"
#include "sim/job/process.hpp"
#include "sim/job/world.hpp"

namespace hf::sim::job {

Process::Peer& Process::peer(Rank rank) {
  auto [at, is_new] = peers_.try_emplace(rank);
  if (is_new) {
    at->second.rank = rank;
    at->second.known = world_.original(rank);
    at->second.local = node_.has_together(self_, rank);
  }
  return at->second;
}

Node* Process::node_of(const Peer& p) { return &world_.node(p.known.node); }

// ---- connections

bool Process::ensure_open(Peer& to) {
  if (to.open || dead_) return to.open;
  if (to.connection == 0 && to.running()) to.connection = world_.network().dial(*this, to.rank, to.known, to.sent);
  return false;
}

// The first frame of each direction. Who is dialled answers with its own.
void Process::on_opening(Peer& from, std::uint64_t connection, const Frame& frame) {
  if (frame.incarnation > from.known.incarnation) {  // the news came before the board's
    on_incarnation(from, frame.incarnation);
    from.known.state = RankState::running;
  }
  if (from.connection != connection) {
    if (from.connection != 0) reset_connection(from);
    if (!world_.network().accept(connection, *this, from.sent)) return;
    from.connection = connection;
  }
  from.open = true;
  if (!HF_MUTATED(IGNORE_OPENING)) from.opening = frame.position;
  if (from.fed != from.known.incarnation || from.cursor < from.opening) from.feeding = true;
  if (from.feeding) feed(from);
  pump(from);
}

void Process::on_connection_closed(Rank rank, std::uint64_t connection) {
  Peer& from = peer(rank);
  // One that was lost before it was open may have been all that its side did before it ended.
  if (from.connection != connection && from.connection != 0) return;
  reset_connection(from);
  feed(from);
  pump(from);
}

// What was on its way may be lost: what stands behind the cursor is taken from the log.
void Process::reset_connection(Peer& p) {
  p.connection = 0;
  p.open = false;
  p.queue.clear();
  p.feeding = true;
  p.waiting.clear();
  forget_again(p);
  fetch_what_was_coming(p);
}

// ---- births and deaths

void Process::on_board(Rank rank) {
  const BoardEntry entry = node_.board(rank);
  Peer& p = peer(rank);
  if (entry.state == RankState::absent || entry.incarnation < p.known.incarnation) return;
  look_at_board(true);  // what belongs to an incarnation was there before it
  if (dead_) return;
  on_place(p, entry);
  if (entry.incarnation > p.known.incarnation) on_incarnation(p, entry.incarnation);
  if (entry.state != p.known.state) {
    p.known.state = entry.state;
    if (entry.state == RankState::dead) {
      if (p.connection) world_.network().leave(p.connection, self_);
      p.sent = stream(p).published;
      reset_connection(p);
    }
    if (entry.state == RankState::finished && !p.open) p.feeding = true;
    if (entry.state == RankState::running && entry.incarnation.value > 0) ensure_open(p);
  }
  take_early(p);
  feed(p);
  pump(p);
}

// Its logs are elsewhere and begin anew.
void Process::on_place(Peer& p, const BoardEntry& entry) {
  if (entry.log_base <= p.known.log_base) return;
  p.known.log_base = entry.log_base;
  p.known.node = entry.node;
  p.question = 0;
  lose_unfinished(p);
  expect_again(p);
  if (p.fed >= entry.log_base) return;
  p.fed = entry.log_base;
  p.cursor = 0;
  p.exhausted = false;
  p.feeding = true;
}

void Process::on_incarnation(Peer& p, Incarnation newest) {
  p.known.incarnation = newest;
  p.known.state = RankState::absent;
  p.exhausted = false;
  if (p.connection) world_.network().leave(p.connection, self_);
  p.sent = stream(p).published;  // the new one takes from the log what was not offered
  reset_connection(p);
}

// ---- logs of others

// Asks for the next records, one question at a time.
void Process::feed(Peer& from) {
  if (!from.feeding || dead_) return;
  if (from.fed == from.known.incarnation && from.open && from.cursor >= from.opening) return end_feed(from);
  if (from.question != 0 || (from.exhausted && from.fed == from.known.incarnation)) return;
  const bool follow = from.past_taken && from.fed == from.known.incarnation && from.running();
  from.asked_when_ended = from.known.incarnation > from.fed;
  from.question = ++questions_;
  world_.ask(*this, node_of(from), from.rank, from.fed, {self_, incarnation_, from.question, from.cursor}, follow);
}

void Process::end_feed(Peer& from) {
  from.question = 0;
  from.feeding = false;
  from.past_taken = true;
  for (const Frame& frame : std::exchange(from.waiting, {})) on_logged_frame(from, frame, false);
}

void Process::on_records(Rank rank, std::uint64_t question, const Answer& answer) {
  Peer& from = peer(rank);
  if (from.question != question) return;
  from.question = 0;
  const bool next = answer.absent && from.asked_when_ended;  // it died before it had begun
  if (!answer.absent) {
    for (const Frame& record : answer.records) {
      if (optimistic_ && !know(record, from)) return void(halted_.insert(rank));  // asked for again when the board has changed
      on_logged_frame(from, record, true);
      if (dead_) return;
    }
    if (from.cursor >= answer.published && from.fed == from.known.incarnation) from.past_taken = true;
  }
  if (next || (!answer.absent && answer.is_final && from.cursor >= answer.published)) {
    if (from.known.incarnation > from.fed) {
      ++from.fed;
      from.cursor = 0;
    } else {
      from.exhausted = true;
    }
  }
  feed(from);
}

}  // namespace hf::sim::job
